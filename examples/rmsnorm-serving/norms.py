# SPDX-License-Identifier: Apache-2.0
"""Residual addition followed by RMSNorm, in three variants: what the serving loop and the checks call.

`make(variant)` returns f(residual, update, weight) -> normalised. All tensors are contiguous bf16 CUDA tensors,
residual and update of shape [rows, columns]; `residual` is updated in place.

  stock      two PyTorch kernels: an in-place addition, then torch.nn.functional.rms_norm
  generated  one CUDA C++ kernel (rmsnorm_generated.cu), built with nvcc on first use
  triton     one Triton kernel, one program per row
"""
import ctypes
import hashlib
import os
import pathlib
import subprocess

import torch

EPSILON = 1e-6
HERE = pathlib.Path(__file__).resolve().parent


def stock(residual, update, weight):
    residual.add_(update)
    return torch.nn.functional.rms_norm(residual, (residual.shape[-1],), weight, EPSILON)


def build_generated():
    """Compiles the candidate once per content and returns the path of the shared library."""
    source = HERE / "rmsnorm_generated.cu"
    cache = pathlib.Path(os.environ.get("RMSNORM_CACHE", pathlib.Path.home() / ".cache" / "rmsnorm-serving"))
    cache.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    library = cache / f"rmsnorm_{digest}.so"
    if not library.exists():
        unfinished = library.with_suffix(f".{os.getpid()}.tmp")
        nvcc = "/usr/local/cuda/bin/nvcc" if os.path.exists("/usr/local/cuda/bin/nvcc") else "nvcc"
        subprocess.run([nvcc, "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", unfinished, source],
                       check=True)
        unfinished.rename(library)
    return library


def make_generated():
    launch = ctypes.CDLL(str(build_generated())).launch_add_rmsnorm
    launch.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int] * 2 + [ctypes.c_float, ctypes.c_void_p]

    def generated(residual, update, weight):
        out = torch.empty_like(residual)
        rows, columns = residual.shape
        error = launch(residual.data_ptr(), update.data_ptr(), weight.data_ptr(), out.data_ptr(), rows, columns,
                       EPSILON, torch.cuda.current_stream().cuda_stream)
        if error:
            raise RuntimeError(f"launch_add_rmsnorm: CUDA error {error}")
        return out

    return generated


def make_triton():
    import triton
    import triton.language as tl

    @triton.jit
    def add_rmsnorm_triton(residual, update, weight, out, columns, epsilon, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * columns
        column = tl.arange(0, BLOCK)
        inside = column < columns
        total = tl.load(residual + row + column, mask=inside, other=0.0) + tl.load(update + row + column, mask=inside,
                                                                                  other=0.0)
        tl.store(residual + row + column, total, mask=inside)
        wide = total.to(tl.float32)
        scale = tl.rsqrt(tl.sum(wide * wide, axis=0) / columns + epsilon)
        gain = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + row + column, (wide * scale * gain).to(tl.bfloat16), mask=inside)

    def fused(residual, update, weight):
        out = torch.empty_like(residual)
        rows, columns = residual.shape
        add_rmsnorm_triton[(rows,)](residual, update, weight, out, columns, EPSILON,
                                    BLOCK=triton.next_power_of_2(columns), num_warps=8)
        return out

    return fused


def make(variant):
    makers = {"stock": lambda: stock, "generated": make_generated, "triton": make_triton}
    if variant not in makers:
        raise SystemExit(f"NORM={variant}: unknown variant; use one of {', '.join(makers)}")
    return makers[variant]()
