# syntax=docker/dockerfile:1

# library-stats-exporter. The file system may be read-only but for /data:
#
#   docker build -t library-stats-exporter --build-arg REVISION=$(git rev-parse HEAD) .
#   docker run --read-only -p 10096:10096 -v library-stats:/data \
#     -v ./config.yaml:/etc/library-stats-exporter/config.yaml:ro library-stats-exporter

ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# No package needs its install script: what is native comes built. i18next can do with TypeScript, and
# npm leaves the native part of that although it is for development only.
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/@typescript

# Node alone: whoever gets in finds no package manager.
FROM ${NODE_IMAGE} AS runtime
RUN rm -rf /opt/yarn* /usr/local/lib/node_modules \
      /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg \
  && mkdir /data \
  && chown node:node /data

# Built files are root's: the exporter, which runs as node, cannot change itself.
FROM runtime
COPY --from=dependencies /app/node_modules /app/node_modules
COPY package.json LICENSE /app/
COPY src /app/src

ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="library-stats-exporter" \
      org.opencontainers.image.description="Prometheus exporter for library visitor and login statistics whose totals are the service's totals" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"

# The revision is in library_exporter_build_info.
ENV NODE_ENV=production \
    LIBRARY_STATS_EXPORTER_REVISION=${REVISION}
# In numbers, for platforms that refuse root and cannot look the name up.
USER 1000:1000
# The default of --storage.path, `data`, is /data from here.
WORKDIR /
VOLUME /data
EXPOSE 10096
STOPSIGNAL SIGTERM
# Asks at the default address. With TLS or another port, give --health-cmd to docker run.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:10096/-/healthy').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# For a small heap with short pauses: docs/bench.md says what each of them does.
ENTRYPOINT ["node", "--min-semi-space-size=16", "--max-semi-space-size=16", \
  "--no-parallel-scavenge", "--no-memory-reducer", "--v8-pool-size=2", "/app/src/main.ts"]
CMD ["--config.file=/etc/library-stats-exporter/config.yaml", "--storage.path=/data"]
