"""The log of the app: what a visitor is not shown."""

import logging

LOG = logging.getLogger("headlight")
LOG.setLevel(logging.INFO)
if not LOG.handlers:  # a reload of this module must not write every line twice
    LOG.addHandler(logging.StreamHandler())
