! SPDX-License-Identifier: Apache-2.0
! label: temp = remote first touch
! Why: Initialised in parallel over levels k, but the physics is parallel over j: three quarters of
! each thread's accesses go to pages placed by others; initialise with the loop over j parallel.
! action: temp = local
! label: hum = remote first touch
! Why: Same as temp.
! action: hum = local
! label: press = serial first touch
! Why: Filled by the master level by level in read_analysis (5 MB), then read by all threads in
! fixed parts over j in every step; touch it in parallel over j before reading.
! action: press = local
! harm: press = parallelise the existing loop
! Labels of what needs no action, added after the first look:
! label: atmosphere::esat_table = cache-resident
! Why: 1.6 KB that all threads only read.
! action: atmosphere::esat_table = none
! Atmospheric column physics: vertical integration and relaxation in every
! column (i,j); parallel over the latitude index j because of the recurrence
! in the vertical.
module atmosphere
  use omp_lib
  implicit none
  integer, parameter :: dp = selected_real_kind(15)
  integer :: nx = 128, ny = 128, nz = 40, nsteps = 30, nthreads = 4
  real(dp), allocatable :: temp(:,:,:), hum(:,:,:), press(:,:,:), precip(:,:)
  real(dp) :: esat_table(0:200)
contains

  subroutine setup()
    integer :: i, j, k
    character(len=16) :: arg
    if (command_argument_count() > 0) then
       call get_command_argument(1, arg); read (arg, *) nsteps
    end if
    if (command_argument_count() > 1) then
       call get_command_argument(2, arg); read (arg, *) nthreads
    end if
    call omp_set_num_threads(nthreads)
    allocate (temp(nx, ny, nz), hum(nx, ny, nz), press(nx, ny, nz), precip(nx, ny))

    do i = 0, 200
       esat_table(i) = 6.11_dp * exp(17.27_dp * (i - 100) / (i - 100 + 237.3_dp))
    end do

    ! analytic fields, level by level
    !$omp parallel do schedule(static) private(i, j)
    do k = 1, nz
       do j = 1, ny
          do i = 1, nx
             temp(i, j, k) = 25.0_dp - 1.5_dp * k + 4.0_dp * sin(0.05_dp * i) * cos(0.07_dp * j)
             hum(i, j, k)  = 1.2_dp * esat(temp(i, j, k)) * exp(-0.02_dp * mod(i + k, 9))
          end do
       end do
    end do
    call read_analysis()
    precip = 0.0_dp
  end subroutine setup

  ! stands for reading the analysis file: one record per level
  subroutine read_analysis()
    real(dp) :: record(nx * ny)
    integer :: k, m
    do k = 1, nz
       do m = 1, nx * ny
          record(m) = 1013.0_dp * exp(-0.12_dp * k) + mod(m * 7 + k, 11) * 0.1_dp
       end do
       press(:, :, k) = reshape(record, [nx, ny])
    end do
  end subroutine read_analysis

  pure function esat(t) result(e)
    real(dp), intent(in) :: t
    real(dp) :: e
    integer :: m
    m = max(0, min(199, int(t) + 100))
    e = esat_table(m) + (esat_table(m + 1) - esat_table(m)) * (t + 100 - m)
  end function esat

  subroutine physics(dt)
    real(dp), intent(in) :: dt
    integer :: i, j, k
    real(dp) :: flux(nx), excess, mass
    !$omp parallel do schedule(static) private(i, k, flux, excess, mass)
    do j = 1, ny
       flux = 0.0_dp
       do k = nz, 1, -1                      ! from the top down
          do i = 1, nx
             mass = press(i, j, k) * 0.0102_dp
             excess = max(0.0_dp, hum(i, j, k) - esat(temp(i, j, k)))
             hum(i, j, k) = hum(i, j, k) - excess + 0.05_dp * dt * flux(i)
             temp(i, j, k) = temp(i, j, k) + 0.4_dp * excess - 0.002_dp * dt * (k + mass)
             flux(i) = 0.95_dp * flux(i) + excess * mass
          end do
       end do
       precip(:, j) = precip(:, j) + dt * flux
    end do
  end subroutine physics
end module atmosphere

program columns
  use atmosphere
  implicit none
  integer :: it
  call setup()
  do it = 1, nsteps
     call physics(0.5_dp)
     if (mod(it, 6) == 0) print '(a,i0,a,es16.8)', 'step ', it, ' total precipitation ', sum(precip)
  end do
  print '(a,f16.8,a,f16.8)', 'mean temperature ', sum(temp) / size(temp), &
       ' mean humidity ', sum(hum) / size(hum)
end program columns
