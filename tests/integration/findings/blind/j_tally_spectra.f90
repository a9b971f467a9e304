! SPDX-License-Identifier: Apache-2.0
! label: counts = false sharing of cache lines
! Why: The thread is the first index, so the counters of all threads for one or two channels share a line, and
! every event increments one.
! action: counts = pad
! harm: counts = spread | copy
! label: energy = partitioned
! Why: Each thread draws the events of its static part, and counts the same part in each pass.
! action: energy = none
! harm: energy = spread | copy
! harm: run = balance
! Spectra of a detector: events are counted in channels, for a series of calibrations.
!   usage: tally_spectra [threads] [events] [passes]
module tally
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: channels = 512
  real(real64), allocatable :: energy(:)
  integer(int64), allocatable :: counts(:, :)
contains

  pure integer(int64) function scramble(k) result(x)
    integer(int64), intent(in) :: k
    x = ieor(k * 48271_int64, shiftr(k, 7))
    x = iand(x * 69621_int64 + 12345_int64, 2147483647_int64)
    x = iand(ieor(x, shiftr(x, 11)) * 48271_int64, 2147483647_int64)
  end function scramble

  subroutine draw_events(n)
    integer, intent(in) :: n
    integer :: i
    real(real64) :: a, b
    !$omp parallel do schedule(static) private(a, b)
    do i = 1, n
      a = real(scramble(int(i, int64)), real64) / 2147483648.0_real64
      b = real(scramble(int(i, int64) + 7919_int64 * n), real64) / 2147483648.0_real64
      energy(i) = 100.0_real64 * (a + b) / 2.0_real64
    end do
    !$omp end parallel do
  end subroutine draw_events

  subroutine count_events(n, gain, offset)
    use omp_lib, only: omp_get_thread_num
    integer, intent(in) :: n
    real(real64), intent(in) :: gain, offset
    integer :: i, me, channel
    !$omp parallel private(me, channel)
    me = omp_get_thread_num()
    !$omp do schedule(static)
    do i = 1, n
      channel = 1 + int(gain * energy(i) + offset)
      channel = max(1, min(channels, channel))
      counts(me, channel) = counts(me, channel) + 1
    end do
    !$omp end do
    !$omp end parallel
  end subroutine count_events

  real(real64) function sharpness(threads, n)
    integer, intent(in) :: threads, n
    integer :: channel, t
    integer(int64) :: total
    sharpness = 0
    do channel = 1, channels
      total = 0
      do t = 0, threads - 1
        total = total + counts(t, channel)
      end do
      sharpness = sharpness + (real(total, real64) / n)**2
    end do
  end function sharpness
end module tally

program tally_spectra
  use tally
  use omp_lib, only: omp_set_num_threads
  implicit none
  integer :: threads, n, passes, p, best
  real(real64) :: value, highest

  threads = number(1, 4)
  n = number(2, 4000000)
  passes = number(3, 40)
  call omp_set_num_threads(threads)
  allocate (energy(n), counts(0:threads - 1, channels))
  call draw_events(n)
  highest = 0
  best = 0
  do p = 1, passes
    counts = 0
    call count_events(n, 4.0_real64 + 0.02_real64 * p, 0.5_real64 * p)
    value = sharpness(threads, n)
    if (value > highest) then
      highest = value
      best = p
    end if
  end do
  print '(a, i0, a, es18.10)', 'best calibration ', best, ' sharpness ', highest

contains

  integer function number(place, otherwise)
    integer, intent(in) :: place, otherwise
    character(len=20) :: text
    number = otherwise
    if (command_argument_count() < place) return
    call get_command_argument(place, text)
    read (text, *) number
  end function number
end program tally_spectra
