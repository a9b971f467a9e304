# SPDX-License-Identifier: Apache-2.0
"""Finds what is where in mapped files: tensors of models, sections of executables.

Only the headers are read, with bounds, because files are not trusted. The packages `gguf` and
`safetensors` write these formats, but do not return the offsets of tensors without loading the file
(`safetensors`) or its whole vocabulary (`gguf`, which also needs `requests`); tests compare with
both.
"""
