# What a training job runs: this package with its sandboxes, PyTorch with CUDA, Ray and boto3.
#
#   docker build --platform linux/amd64 --tag infinite-rl .
#   docker build --build-arg EXTRAS=train,ray,aws,data,eval,trl --tag infinite-rl .
#
# CUDA's libraries come with PyTorch's wheels; the host gives the driver. Where machines shall talk
# over EFA, take an AWS Deep Learning Container with NCCL's plugin as BASE.
ARG BASE=python:3.12.8-slim-bookworm

FROM python:3.12.8-slim-bookworm AS wheel
WORKDIR /src
COPY pyproject.toml setup.py MANIFEST.in VERSION.txt LICENSE README.md requirements_dev.txt ./
COPY .ci/constraints.txt .ci/constraints.txt
COPY build_src build_src
COPY infinite_rl infinite_rl
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM ${BASE}
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ARG EXTRAS=train,ray,aws,data,eval
# NVIDIA's container runtime asks these which GPUs to show, and what of the driver. A job's output
# is read as it comes, and no package writes to a home folder that may not be there.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    PYTHONUNBUFFERED=1 \
    INFINITE_RL_CACHE=/tmp/infinite_rl \
    HF_HOME=/tmp/huggingface \
    RAY_USAGE_STATS_ENABLED=0
COPY .ci/constraints.txt /tmp/constraints.txt
COPY --from=wheel /wheels /tmp/wheels
RUN wheel="$(ls /tmp/wheels/infinite_rl-*.whl)" \
    && pip install --no-cache-dir --constraint /tmp/constraints.txt "${wheel}[${EXTRAS}]" \
    && infinite-rl doctor --warm_up all && python -m infinite_rl.run_examples \
    && rm -rf /tmp/wheels /tmp/constraints.txt /tmp/infinite_rl
# As root: SageMaker gives root the folders of /opt/ml, and runs training containers as root.
WORKDIR /opt/ml
ENTRYPOINT ["python", "-m", "infinite_rl.launch.container"]
