# For those who build with Docker; `make catalog-build-push` needs none.
#   make catalog-check && docker build -f catalog.Dockerfile .
FROM scratch
COPY build/configs/catalog.yaml /configs/inference-stack-operator/catalog.yaml
LABEL operators.operatorframework.io.index.configs.v1=/configs
