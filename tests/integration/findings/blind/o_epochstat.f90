! SPDX-License-Identifier: Apache-2.0
! A channel belongs to one thread in all loops. Nothing is wrong.
! label: run = no NUMA problem
! action: run = none
! label: eeg = partitioned
! action: eeg = none
! harm: eeg = spread
! minor: avg = partitioned
! harm: avg = spread
! minor: var = partitioned
! harm: var = spread
! harm: onset = copy
! epochstat - event related statistics of a multi-channel EEG recording: baseline correction,
! rejection of epochs with artefacts, mean and variance over the epochs, peak latency.
!   epochstat [threads]
! A channel belongs to the same thread from the acquisition to the last statistic.
program epochstat
  use omp_lib
  implicit none
  integer, parameter :: nchan = 48, nsamp = 65536, nevent = 220, elen = 512, pre = 128
  real(8), allocatable :: eeg(:,:)              ! sample, channel
  real(8), allocatable :: avg(:,:), var(:,:)    ! epoch sample, channel
  integer :: onset(nevent), kept(nchan), peak(nchan)
  integer :: nt, c, e
  character(len=32) :: arg

  nt = 4
  if (command_argument_count() >= 1) then
     call get_command_argument(1, arg)
     read (arg, *) nt
  end if
  call omp_set_num_threads(nt)

  do e = 1, nevent
     onset(e) = 300 + (e - 1)*290 + mod(e*37, 23)
  end do
  allocate (eeg(nsamp,nchan), avg(elen,nchan), var(elen,nchan))

  !$omp parallel do schedule(static)
  do c = 1, nchan
     call acquire(c, eeg(:,c))
  end do

  !$omp parallel do schedule(static)
  do c = 1, nchan
     call detrend(eeg(:,c))
  end do

  !$omp parallel do schedule(static)
  do c = 1, nchan
     call epochs(eeg(:,c), avg(:,c), var(:,c), kept(c))
     peak(c) = maxloc(abs(avg(:,c)), 1) - pre
  end do

  print '(a,i0,a,f9.3,a,es15.8,a,es15.8)', 'kept ', sum(kept), ' mean latency ', &
        sum(dble(peak))/nchan, ' avg ', sum(abs(avg)), ' var ', sum(var)

contains

  ! background activity, mains hum, drift, the response, and a few blinks
  subroutine acquire(c, x)
    integer, intent(in) :: c
    real(8), intent(out) :: x(nsamp)
    integer(8) :: s
    integer :: k, e, b
    real(8) :: state, ph
    s = 1000_8*c + 7
    state = 0
    ph = 0
    do k = 1, nsamp
       s = iand(s*1103515245_8 + 12345_8, 2147483647_8)
       state = 0.95d0*state + (dble(s/65536)/32768d0 - 0.5d0)*4
       ph = ph + 0.3142d0
       x(k) = state + 1d-4*k + 2*mod(ph, 1d0)
    end do
    do e = 1, nevent
       do k = 0, 199
          if (onset(e) + k > nsamp) exit
          x(onset(e)+k) = x(onset(e)+k) + 6*exp(-((k - 90 - 0.2d0*c)/20)**2)
       end do
       if (mod(e*c, 29) == 0) then
          do b = 150, 180
             if (onset(e) + b <= nsamp) x(onset(e)+b) = x(onset(e)+b) + 120
          end do
       end if
    end do
  end subroutine acquire

  subroutine detrend(x)
    real(8), intent(inout) :: x(nsamp)
    real(8) :: sx, sy, sxx, sxy, a, b
    integer :: k
    sx = 0; sy = 0; sxx = 0; sxy = 0
    do k = 1, nsamp
       sx = sx + k
       sy = sy + x(k)
       sxx = sxx + dble(k)*k
       sxy = sxy + k*x(k)
    end do
    b = (nsamp*sxy - sx*sy)/(nsamp*sxx - sx*sx)
    a = (sy - b*sx)/nsamp
    do k = 1, nsamp
       x(k) = x(k) - a - b*k
    end do
  end subroutine detrend

  subroutine epochs(x, m, v, n)
    real(8), intent(in) :: x(nsamp)
    real(8), intent(out) :: m(elen), v(elen)
    integer, intent(out) :: n
    real(8) :: seg(elen), base, d
    integer :: e, k, a, used
    m = 0
    v = 0
    used = 0
    do e = 1, nevent
       a = onset(e) - pre
       if (a < 1 .or. a + elen - 1 > nsamp) cycle
       seg = x(a:a+elen-1)
       base = sum(seg(1:pre))/pre
       seg = seg - base
       if (maxval(abs(seg)) > 60) cycle
       used = used + 1
       do k = 1, elen                 ! Welford
          d = seg(k) - m(k)
          m(k) = m(k) + d/used
          v(k) = v(k) + d*(seg(k) - m(k))
       end do
    end do
    if (used > 1) v = v/(used - 1)
    n = used
  end subroutine epochs
end program epochstat
