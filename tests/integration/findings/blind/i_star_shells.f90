! SPDX-License-Identifier: Apache-2.0
! label: temperature = serial first touch
! Why: Array assignments in the main program touch the whole field, then planes are worked on in
! static parts.
! action: temperature = local
! harm: temperature = copy
! label: density = serial first touch
! Why: As temperature.
! action: density = local
! harm: density = copy
! label: opacity = shared, read-mostly
! Why: A table of 4 MB, filled once, from which all threads read at places that depend on the
! data.
! action: opacity = copy | spread | copy or spread
! harm: opacity = local | divide
! Heating of a gas with opacities from a table.
module tables
  implicit none
  real(8), allocatable :: opacity(:, :)
contains
  subroutine load(n)
    integer, intent(in) :: n
    integer :: i, j
    allocate (opacity(n, n))
    do j = 1, n
      do i = 1, n
        opacity(i, j) = 0.2d0 + 1d-3*mod(i*7 + j*13, 101)
      end do
    end do
  end subroutine

  pure real(8) function look_up(t, rho)
    real(8), intent(in) :: t, rho
    integer :: i, j, n
    real(8) :: x, y
    n = size(opacity, 1)
    x = 1 + (n - 2)*(t - floor(t))
    y = 1 + (n - 2)*(rho - floor(rho))
    i = int(x); j = int(y)
    x = x - i; y = y - j
    look_up = (1 - x)*(1 - y)*opacity(i, j) + x*(1 - y)*opacity(i + 1, j) &
      + (1 - x)*y*opacity(i, j + 1) + x*y*opacity(i + 1, j + 1)
  end function
end module

program star_shells
  use tables
  implicit none
  integer :: n, steps, step, i, j, k
  real(8), allocatable :: temperature(:, :, :), density(:, :, :)
  character(32) :: word
  n = 80; steps = 6
  if (command_argument_count() > 0) then
    call get_command_argument(1, word); read (word, *) n
  end if
  if (command_argument_count() > 1) then
    call get_command_argument(2, word); read (word, *) steps
  end if
  call load(720)
  allocate (temperature(n, n, n), density(n, n, n))
  temperature = 0.5d0
  density = 1d0
  do k = 1, n
    temperature(:, :, k) = temperature(:, :, k) + 17.3d0*sin(0.3d0*k)
    density(:, k, :) = density(:, k, :) + 11.1d0*cos(0.2d0*k)
  end do
  do step = 1, steps
    !$omp parallel do schedule(static) private(i, j)
    do k = 1, n
      do j = 1, n
        do i = 1, n
          temperature(i, j, k) = temperature(i, j, k) &
            + 0.37d0*look_up(temperature(i, j, k), density(i, j, k))
          density(i, j, k) = density(i, j, k)*1.0001d0 + 0.013d0*i
        end do
      end do
    end do
  end do
  print '(a, es14.6)', 'sum ', sum(temperature)/n**3
end program
