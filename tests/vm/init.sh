#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The first process of the guest (see guest.py): carries out /run/work/job and ends the machine.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mkdir /run/tmp
export TMPDIR=/run/tmp # not /tmp, below which the repository may lie
mkdir /dev/shm /run/work
mount -t tmpfs shm /dev/shm
mount -t virtiofs work /run/work
ln -sf /proc/self/fd /dev/fd
cd /run/work || exit
sh ./job >output 2>errors </dev/null
echo $? >status
sync
echo b >/proc/sysrq-trigger # a reset, at which QEMU ends
