! SPDX-License-Identifier: Apache-2.0
! label: u = pages change users
! Why: Columns are first touched, and solved in the sweeps along x, in static parts of the columns. The sweeps
! along y are in static parts of the rows, so three quarters of what a thread uses there is of other threads.
! (Sweeps along y that keep the division by columns, as a pipeline, or blocks that are turned, would help. Pages
! that are spread would make the sweeps along x remote too.)
! action: u = divide | none
! harm: u = spread | copy
! label: cx = cache-resident
! label: wx = cache-resident
! label: cy = cache-resident
! label: wy = cache-resident
! Diffusion of a tracer by alternating directions: implicit along x, then along y, in each half step.
!   usage: adi_sweeps [threads] [nx] [ny] [steps]
module adi
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), allocatable :: u(:, :)
contains

  subroutine factors(n, r, c, w)
    integer, intent(in) :: n
    real(real64), intent(in) :: r
    real(real64), intent(out) :: c(n), w(n)
    integer :: i
    w(1) = 1.0_real64 / (1.0_real64 + r)
    c(1) = -r * w(1)
    do i = 2, n
      w(i) = 1.0_real64 / (1.0_real64 + 2.0_real64 * r + r * c(i - 1))
      c(i) = -r * w(i)
    end do
  end subroutine factors

  subroutine start(nx, ny)
    integer, intent(in) :: nx, ny
    integer :: i, j
    !$omp parallel do schedule(static) private(i)
    do j = 1, ny
      do i = 1, nx
        u(i, j) = exp(-1.0e-5_real64 * ((i - nx / 3)**2 + (j - ny / 2)**2))
      end do
    end do
    !$omp end parallel do
  end subroutine start

  subroutine sweep_x(nx, ny, r, c, w)
    integer, intent(in) :: nx, ny
    real(real64), intent(in) :: r, c(nx), w(nx)
    integer :: i, j
    !$omp parallel do schedule(static) private(i)
    do j = 1, ny
      u(1, j) = u(1, j) * w(1)
      do i = 2, nx
        u(i, j) = (u(i, j) + r * u(i - 1, j)) * w(i)
      end do
      do i = nx - 1, 1, -1
        u(i, j) = u(i, j) - c(i) * u(i + 1, j)
      end do
    end do
    !$omp end parallel do
  end subroutine sweep_x

  subroutine sweep_y(nx, ny, r, c, w)
    integer, intent(in) :: nx, ny
    real(real64), intent(in) :: r, c(ny), w(ny)
    integer :: i, j
    !$omp parallel private(j)
    !$omp do schedule(static)
    do i = 1, nx
      u(i, 1) = u(i, 1) * w(1)
      do j = 2, ny
        u(i, j) = (u(i, j) + r * u(i, j - 1)) * w(j)
      end do
      do j = ny - 1, 1, -1
        u(i, j) = u(i, j) - c(j) * u(i, j + 1)
      end do
    end do
    !$omp end do
    !$omp end parallel
  end subroutine sweep_y
end module adi

program adi_sweeps
  use adi
  use omp_lib
  implicit none
  real(real64), allocatable :: cx(:), wx(:), cy(:), wy(:)
  real(real64), parameter :: r = 0.4_real64
  integer :: nx, ny, steps, s

  call omp_set_num_threads(argument(1, 4))
  nx = argument(2, 2000)
  ny = argument(3, 1500)
  steps = argument(4, 10)
  allocate (u(nx, ny), cx(nx), wx(nx), cy(ny), wy(ny))
  call factors(nx, r, cx, wx)
  call factors(ny, r, cy, wy)
  call start(nx, ny)
  do s = 1, steps
    call sweep_x(nx, ny, r, cx, wx)
    call sweep_y(nx, ny, r, cy, wy)
  end do
  print '(a, es20.12, a, es20.12)', 'centre ', u(nx / 3, ny / 2), ' sum ', sum(u)

contains

  integer function argument(k, otherwise)
    integer, intent(in) :: k, otherwise
    character(len=32) :: text
    argument = otherwise
    if (command_argument_count() >= k) then
      call get_command_argument(k, text)
      read (text, *) argument
    end if
  end function argument
end program adi_sweeps
