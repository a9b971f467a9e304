# SPDX-License-Identifier: Apache-2.0
"""Numascape's native libraries; built from src/native/bindings."""
