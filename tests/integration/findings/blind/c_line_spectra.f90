! SPDX-License-Identifier: Apache-2.0
! Adds the absorption lines of a gas to the spectra of many sight lines, in ten passes.
! A spectrum has 300 channels, and the spectra are dealt out to the threads one by one, so that sight lines of the
! same region are spread over the threads. The start values have the same division.
! The opacity comes from a table that is read at scattered positions.
! label: spectrum = page-level false sharing
! action: spectrum = divide | pad
! label: opacity = shared, read-mostly
! action: opacity = copy or spread
! harm: opacity = divide
program line_spectra
   use, intrinsic :: iso_fortran_env, only: real64, int32
   implicit none
   integer, parameter :: channels = 300, sights = 7000, entries = 131072, passes = 10
   real(real64), allocatable :: spectrum(:, :), opacity(:)
   real(real64) :: total
   integer(int32) :: c, s, pass, at

   allocate (spectrum(channels, sights), opacity(entries))
   do at = 1, entries
      opacity(at) = 0.001_real64*real(mod(at*31, 1009), real64)
   end do
   !$omp parallel do schedule(static, 1) private(c)
   do s = 1, sights
      do c = 1, channels
         spectrum(c, s) = 1.0_real64
      end do
   end do
   !$omp end parallel do

   do pass = 1, passes
      !$omp parallel do schedule(static, 1) private(c, at)
      do s = 1, sights
         do c = 1, channels
            at = iand(c*48271 + s*1013 + pass*7919, entries - 1) + 1
            spectrum(c, s) = spectrum(c, s)*(1.0_real64 - 0.1_real64*opacity(at))
         end do
      end do
      !$omp end parallel do
   end do

   total = 0.0_real64
   do s = 50, sights, 100
      total = total + spectrum(channels/2, s)
   end do
   print '(a, es14.6)', 'light in the sample: ', total
end program line_spectra
