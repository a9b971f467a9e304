// SPDX-License-Identifier: Apache-2.0
// How often each instruction case runs its body.
#define REPEAT 20
