! SPDX-License-Identifier: Apache-2.0
! label: temp = pages change users
! Why: First touched in static parts, but in each step dynamic chunks of columns go to whichever thread is free,
! though all columns cost the same. The same static schedule everywhere would keep them local.
! action: temp = local | divide | spread
! harm: temp = copy
! label: humid = pages change users
! Why: As temp.
! action: humid = local | divide | spread
! harm: humid = copy
! label: cloud = pages change users
! Why: As temp.
! action: cloud = local | divide | spread
! harm: cloud = copy
! harm: run = balance
! Physics of the columns of an atmosphere: radiation, condensation and mixing in a column of many thin layers.
!   usage: column_physics [threads] [columns] [steps]
module columns
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  integer, parameter :: layers = 256

  type atmosphere
    integer :: count
    real(dp), allocatable :: temp(:, :), humid(:, :), cloud(:, :)
    real(dp) :: rain = 0
  end type atmosphere

contains

  subroutine create(atm, count)
    type(atmosphere), intent(inout) :: atm
    integer, intent(in) :: count
    integer :: c, k
    atm%count = count
    allocate (atm%temp(layers, count), atm%humid(layers, count), atm%cloud(layers, count))
    !$omp parallel do schedule(static) private(k)
    do c = 1, count
      do k = 1, layers
        atm%temp(k, c) = 290.0_dp - 0.25_dp * k + 5.0_dp * sin(0.001_dp * c)
        atm%humid(k, c) = 0.012_dp * exp(-0.02_dp * k)
        atm%cloud(k, c) = 0.0_dp
      end do
    end do
    !$omp end parallel do
  end subroutine create

  pure subroutine condense(temp, humid, cloud, rain)
    real(dp), intent(inout) :: temp(layers), humid(layers), cloud(layers), rain
    real(dp) :: limit, excess, falls
    integer :: k
    do k = 1, layers
      limit = 0.010_dp + 0.0004_dp * (temp(k) - 285.0_dp)
      excess = 0.5_dp * max(0.0_dp, humid(k) - limit)
      humid(k) = humid(k) - excess
      temp(k) = temp(k) + 2.5_dp * excess
      falls = 0.1_dp * cloud(k)
      cloud(k) = cloud(k) + excess - falls
      rain = rain + falls
    end do
  end subroutine condense

  pure subroutine mix(field, strength)
    real(dp), intent(inout) :: field(layers)
    real(dp), intent(in) :: strength
    real(dp) :: below, here
    integer :: k
    below = field(1)
    do k = 2, layers - 1
      here = field(k)
      field(k) = here + strength * (below - 2.0_dp * here + field(k + 1))
      below = here
    end do
  end subroutine mix

  pure subroutine cool(temp, cloud)
    real(dp), intent(inout) :: temp(layers)
    real(dp), intent(in) :: cloud(layers)
    integer :: k
    do k = 1, layers
      temp(k) = temp(k) - 0.002_dp * (1.0_dp - 20.0_dp * cloud(k)) * (temp(k) - 220.0_dp) * 0.01_dp
    end do
    temp(1) = temp(1) + 0.05_dp
  end subroutine cool

  subroutine step(atm)
    type(atmosphere), intent(inout) :: atm
    real(dp) :: rain
    integer :: c
    rain = 0
    !$omp parallel do schedule(dynamic, 4) reduction(+ : rain)
    do c = 1, atm%count
      call cool(atm%temp(:, c), atm%cloud(:, c))
      call mix(atm%temp(:, c), 0.2_dp)
      call mix(atm%humid(:, c), 0.1_dp)
      call condense(atm%temp(:, c), atm%humid(:, c), atm%cloud(:, c), rain)
    end do
    !$omp end parallel do
    atm%rain = atm%rain + rain
  end subroutine step
end module columns

program column_physics
  use columns
  use omp_lib
  implicit none
  type(atmosphere) :: atm
  integer :: numbers(3), k, s
  character(len=32) :: text

  numbers = [4, 5000, 25]
  do k = 1, min(3, command_argument_count())
    call get_command_argument(k, text)
    read (text, *) numbers(k)
  end do
  call omp_set_num_threads(numbers(1))
  call create(atm, numbers(2))
  do s = 1, numbers(3)
    call step(atm)
  end do
  print '(a, es18.10, a, f14.6)', 'rain ', atm%rain, ' mean temperature ', &
    sum(atm%temp(1, :)) / atm%count
end program column_physics
