# For those who build with Docker; `make operator-build-push` needs none. Put a static podium beside this file, and name the
# project that make has written:
#   make bundle && cp "$(command -v podium)" . && docker build -f operator.Dockerfile --build-arg PROJECT=build/1.0.0/project .
FROM scratch
ARG PROJECT
COPY --chmod=0755 podium /podium
COPY ${PROJECT} /opt/helm
WORKDIR /opt/helm
USER 65532:65532
ENTRYPOINT ["/podium"]
CMD ["operator", "run"]
