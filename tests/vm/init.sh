#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The first process of the guest (see guest.py): runs /run/work/job, and ends the machine.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# One process mounts all: starting one takes a tenth of a second on an emulated processor.
mount --all --fstab "${0%/*}/mounts"
mkdir /run/tmp
export TMPDIR=/run/tmp # not /tmp: the repository may be below it
ln -sf /proc/self/fd /dev/fd
cd /run/work || exit
sh ./job >output 2>errors </dev/null
echo $? >status
sync
echo b >/proc/sysrq-trigger # a reset: QEMU then ends
