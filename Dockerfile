# docker build -t headlight .
# docker run --rm -p 127.0.0.1:8501:8501 headlight
#
# The app trusts its visitor: it loads any model by name and reads what it is given. So the port is
# bound to this machine only. `-p 8501:8501` would open it to everyone who reaches the machine; it
# then still answers under localhost and the names in HEADLIGHT_HOSTS only
# (-e HEADLIGHT_HOSTS=lab.example.org), and has no sign-in.

FROM python:3.11-slim AS builder

# pip reads these: a mirror, or an index with a torch that carries no CUDA.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL

WORKDIR /headlight
COPY requirements.txt ./
RUN python -m venv .venv && .venv/bin/python -m pip install --no-cache-dir -r requirements.txt

COPY core core
ENV XDG_CACHE_HOME=/cache
RUN .venv/bin/python -m core weights


FROM python:3.11-slim

# smollm2 and focus-vit are converted in the cache when first chosen, so it belongs to the user.
RUN useradd --create-home headlight && install --directory --owner=headlight /cache

WORKDIR /headlight
COPY --from=builder /headlight/.venv .venv
COPY --from=builder --chown=headlight /cache /cache
COPY LICENSE ./
COPY .streamlit .streamlit
COPY assets assets
COPY core core
COPY app app

USER headlight
ENV PATH=/headlight/.venv/bin:$PATH XDG_CACHE_HOME=/cache PYTHONUNBUFFERED=1
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["python", "-m", "streamlit", "run", "app/server.py", "--server.address=0.0.0.0"]
