# tsveil in an image that starts without compiling. The wheel is built first, and the data come in as a folder:
#
#     make wheel
#     docker build -t tsveil .                       with --build-arg EXTRAS=[files], also for Excel, SQLite, DuckDB and others
#     docker run --rm --read-only --tmpfs /tmp --user "$(id -u)" -v "$PWD:/data" tsveil run meters.plan.toml
#
# `make wheel` runs the RUN lines below in an empty environment and a demo with what they leave behind.
FROM python:3.12-slim
ARG EXTRAS=""
ENV PATH=/opt/tsveil/bin:$PATH
ENV NUMBA_CACHE_DIR=/opt/tsveil/compiled
COPY build/dist/*.whl /opt/wheel/
RUN python3 -m venv /opt/tsveil
RUN pip install --no-cache-dir --quiet "$(echo /opt/wheel/*.whl)$EXTRAS"
# Compiled for the kind of processor that builds the image; on another kind it is compiled again at every start.
RUN tsveil warm --quiet
WORKDIR /data
USER 1000
ENTRYPOINT ["tsveil"]
