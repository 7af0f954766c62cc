# The server. Give it at least TREELINE_ROOTS and TREELINE_TOKEN (docs/settings.md):
#   docker run -p 8181:8181 -e TREELINE_TOKEN=… -e TREELINE_ROOTS=lake=s3://bucket/prefix treeline
# The other commands work too: docker run … treeline log s3://bucket/prefix

FROM python:3.12-slim AS build
WORKDIR /source
RUN python -m venv /opt/treeline
ENV PATH=/opt/treeline/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# What changes seldom comes first: the layer of the libraries is built anew only when the lock file changes.
COPY requirements/server.lock requirements/
RUN pip install --require-hashes -r requirements/server.lock
COPY pyproject.toml README.md LICENSE ./
COPY catalog_format catalog_format
COPY irc_server irc_server
COPY pipeline pipeline
COPY spark_conf spark_conf
RUN pip install --no-deps . && python -m compileall -q /opt/treeline/lib

FROM python:3.12-slim
RUN useradd --system --uid 10001 --create-home --home-dir /home/treeline treeline
COPY --from=build /opt/treeline /opt/treeline
ENV PATH=/opt/treeline/bin:$PATH PYTHONUNBUFFERED=1 TREELINE_HOST=0.0.0.0
USER treeline
WORKDIR /home/treeline
EXPOSE 8181
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ.get('TREELINE_PORT', '8181') + '/healthz', timeout=4)"]
ENTRYPOINT ["treeline"]
CMD ["serve"]
