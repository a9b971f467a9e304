! SPDX-License-Identifier: Apache-2.0
! Computes waves in a basin with the linear shallow water equations.
! The start values are set in a parallel loop over the columns of the basin. The two loops of a time step have slightly
! different bounds, because the velocity at the last column stays zero, but the same static schedule.
! label: run = no NUMA problem
! label: h = partitioned
! action: h = none
! harm: h = spread
! label: u = partitioned
! action: u = none
! harm: u = spread
! label: v = partitioned
! action: v = none
! harm: v = spread
program shallow_water
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   integer, parameter :: nx = 2048, ny = 1024, steps = 4
   real(real64), parameter :: dt = 0.1_real64
   real(real64), allocatable :: h(:, :), u(:, :), v(:, :)
   real(real64) :: volume
   integer :: i, j, step

   allocate (h(nx, ny), u(nx, ny), v(nx, ny))
   !$omp parallel do schedule(static) private(i)
   do j = 1, ny
      do i = 1, nx
         h(i, j) = 1.0_real64 + 0.001_real64*real(mod(i + j, 100), real64)
         u(i, j) = 0.0_real64
         v(i, j) = 0.0_real64
      end do
   end do
   !$omp end parallel do

   do step = 1, steps
      !$omp parallel do schedule(static) private(i)
      do j = 1, ny - 1
         do i = 1, nx - 1
            u(i, j) = u(i, j) - dt*(h(i + 1, j) - h(i, j))
            v(i, j) = v(i, j) - dt*(h(i, j + 1) - h(i, j))
         end do
      end do
      !$omp end parallel do
      !$omp parallel do schedule(static) private(i)
      do j = 2, ny
         do i = 2, nx
            h(i, j) = h(i, j) - dt*(u(i, j) - u(i - 1, j) + v(i, j) - v(i, j - 1))
         end do
      end do
      !$omp end parallel do
   end do

   volume = 0.0_real64
   do j = 16, ny, 32
      volume = volume + h(nx/2, j)
   end do
   print '(a, f12.6)', 'volume of the sample: ', volume
end program shallow_water
