"""Server: the app, which answers under its own names only. `streamlit run app/server.py`.

A page elsewhere whose name was made to point at this machine would otherwise drive the app through
its visitor's browser (DNS rebinding). HEADLIGHT_HOSTS names more hosts, with commas between them:
a public name, or the name of this machine in a network.
"""

import os

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

LOCAL = ["localhost", "127.0.0.1", "::1", "[::1]"]
NAMED = [name.strip() for name in os.environ.get("HEADLIGHT_HOSTS", "").split(",") if name.strip()]

app = st.App(
    "main.py",
    middleware=[
        Middleware(TrustedHostMiddleware, allowed_hosts=[*LOCAL, *NAMED], www_redirect=False)
    ],
)
