# SPDX-License-Identifier: Apache-2.0
"""Numascape's native libraries; built from src/native/bindings."""

class Table:
    """A table of numbers, for pl.DataFrame(...): its columns are not copied."""

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
