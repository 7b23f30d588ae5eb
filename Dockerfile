# How to build and run the image. Only /data must be writable:
#
#   docker build -t library-stats-exporter --build-arg REVISION=$(git rev-parse HEAD) .
#   docker run --read-only -p 10096:10096 -v library-stats:/data \
#     -v "$PWD/config.yaml:/etc/library-stats-exporter/config.yaml:ro" \
#     -v "$PWD/secrets:/etc/library-stats-exporter/secrets:ro" library-stats-exporter

ARG BASE_IMAGE=debian:bookworm-slim
# For npm. The exporter runs on the Node.js of the Debian package.
ARG NPM_IMAGE=node:24-bookworm-slim

FROM ${NPM_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No package needs its install script: native modules come prebuilt.
RUN npm ci --ignore-scripts
COPY LICENSE tsconfig.json tsconfig.build.json ./
COPY deploy/tree deploy/
COPY src src
ARG REVISION=unknown
# The builder knows it; a default here would hide that.
ARG TARGETARCH
RUN deploy/tree /tree "$TARGETARCH"

# root owns the program: the exporter, which has another user, cannot change it. Group 0 can write to
# /data, because OpenShift runs containers as a random user of that group.
FROM ${BASE_IMAGE}
RUN mkdir /data && chown 1000:0 /data && chmod 775 /data
COPY --from=build /tree /usr

ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="library-stats-exporter" \
      org.opencontainers.image.description="Prometheus exporter for library visitor and login statistics whose totals are the service's totals" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"

# Freed memory is kept by thread: 6 MiB less with one arena.
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=1
# Numbers, because platforms that refuse root cannot resolve names.
USER 1000:1000
# Relative to /, the default of --storage.path (`data`) is /data.
WORKDIR /
VOLUME /data
EXPOSE 10096
STOPSIGNAL SIGTERM
# For the default address. With TLS or another port, start the container with another --health-cmd.
# `fetch` would need 6 MiB more, which count as the container's.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["/usr/lib/library-stats-exporter/node", "-e", "http.get('http://127.0.0.1:10096/-/healthy', ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
# Some customers fit in 96 MiB. With thousands, 16 costs memory and saves CPU time (docs/operations.md).
ENV NODE_OPTIONS=--max-semi-space-size=4
ENTRYPOINT ["library-stats-exporter"]
CMD ["--config.file=/etc/library-stats-exporter/config.yaml", "--storage.path=/data"]
