! SPDX-License-Identifier: Apache-2.0
! label: v = pages change users
! Why: sweep_x writes v by columns j (contiguous, per thread), sweep_y reads it with threads over i,
! so each thread walks through every page with a stride of a whole column.
! action: v = divide | spread
! harm: v = local
! label: u = pages change users
! Why: sweep_y writes (and re-reads) u with threads over i across all columns; placed by columns in
! start() and read by columns in sweep_x.
! action: u = divide | spread
! harm: u = local
! Labels of what needs no action, added after the first look:
! label: cp = cache-resident
! Why: 5 KB of factors that all threads only read.
! action: cp = none
! label: den = cache-resident
! Why: As cp.
! action: den = none
! Alternating-direction implicit scheme for the 2-D heat equation.  Each half
! step solves tridiagonal systems along one direction (Thomas algorithm).
program adi
  use omp_lib
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  integer :: n, nsteps, nthreads, it
  real(dp), allocatable :: u(:,:), v(:,:), cp(:), den(:)
  real(dp) :: lambda, total, hot

  n = 640; nsteps = 12; nthreads = 4
  call arguments()
  call omp_set_num_threads(nthreads)
  allocate (u(n, n), v(n, n), cp(n), den(n))
  lambda = 0.4_dp
  call factor(n, lambda, cp, den)
  call start(n, u, v)
  do it = 1, nsteps
     call sweep_x(n, lambda, cp, den, u, v)
     call sweep_y(n, lambda, cp, den, v, u)
  end do
  total = sum(u) / (real(n, dp) * n)
  hot = maxval(u(:, n / 2))
  print '(a,i0,a,i0,a,f14.10,a,f12.8)', 'n=', n, ' steps=', nsteps, &
       ' mean=', total, ' max on the middle line=', hot

contains

  subroutine arguments()
    character(len=20) :: s
    integer :: k, val
    do k = 1, min(3, command_argument_count())
       call get_command_argument(k, s)
       read (s, *) val
       select case (k)
       case (1); n = val
       case (2); nsteps = val
       case (3); nthreads = val
       end select
    end do
  end subroutine arguments

  ! the matrix is the same for all lines: factor it once
  subroutine factor(n, lam, cp, den)
    integer, intent(in) :: n
    real(dp), intent(in) :: lam
    real(dp), intent(out) :: cp(n), den(n)
    integer :: i
    den(1) = 1.0_dp / (1.0_dp + 2.0_dp * lam)
    cp(1) = -lam * den(1)
    do i = 2, n
       den(i) = 1.0_dp / (1.0_dp + 2.0_dp * lam + lam * cp(i-1))
       cp(i) = -lam * den(i)
    end do
  end subroutine factor

  subroutine start(n, u, v)
    integer, intent(in) :: n
    real(dp), intent(out) :: u(n, n), v(n, n)
    integer :: i, j
    !$omp parallel do schedule(static) private(i)
    do j = 1, n
       do i = 1, n
          u(i, j) = sin(3.0_dp * i / n) * cos(5.0_dp * j / n) + 1.0_dp
          v(i, j) = 0.0_dp
       end do
    end do
  end subroutine start

  ! implicit along i; lines j are independent
  subroutine sweep_x(n, lam, cp, den, a, b)
    integer, intent(in) :: n
    real(dp), intent(in) :: lam, cp(n), den(n), a(n, n)
    real(dp), intent(inout) :: b(n, n)
    integer :: i, j
    !$omp parallel do schedule(static) private(i)
    do j = 1, n
       b(1, j) = a(1, j) * den(1)
       do i = 2, n
          b(i, j) = (a(i, j) + lam * b(i-1, j)) * den(i)
       end do
       do i = n - 1, 1, -1
          b(i, j) = b(i, j) - cp(i) * b(i+1, j)
       end do
    end do
  end subroutine sweep_x

  ! implicit along j; lines i are independent
  subroutine sweep_y(n, lam, cp, den, a, b)
    integer, intent(in) :: n
    real(dp), intent(in) :: lam, cp(n), den(n), a(n, n)
    real(dp), intent(inout) :: b(n, n)
    integer :: i, j
    !$omp parallel do schedule(static) private(j)
    do i = 1, n
       b(i, 1) = a(i, 1) * den(1)
       do j = 2, n
          b(i, j) = (a(i, j) + lam * b(i, j-1)) * den(j)
       end do
       do j = n - 1, 1, -1
          b(i, j) = b(i, j) - cp(j) * b(i, j+1)
       end do
    end do
  end subroutine sweep_y
end program adi
