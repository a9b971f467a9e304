// SPDX-License-Identifier: Apache-2.0
// Cargo asks for a target; only the dependency's sources are of interest.
