! SPDX-License-Identifier: Apache-2.0
! Main fills the matrix and the vectors. Threads have the same rows in all loops.
! label: val = serial first touch
! action: val = local | spread
! harm: val = copy
! label: col = serial first touch
! action: col = local | spread
! harm: col = copy
! minor: ptr = serial first touch | cache-resident
! action: ptr = local | spread
! label: diag = serial first touch | cache-resident
! action: diag = local | spread
! label: p = serial first touch
! action: p = local
! harm: p = copy
! label: x = serial first touch
! action: x = local
! label: r = serial first touch
! action: r = local
! minor: q = partitioned
! action: q = none
! harm: q = spread
! minor: z = partitioned
! action: z = none
! harm: z = spread
! minor: b = partitioned
! action: b = none
! Conjugate gradients with Jacobi preconditioner for a diffusion problem
! with variable coefficients, matrix in CSR.
module csr_mod
  use iso_fortran_env, only: real64, int32
  implicit none
  type csr
     integer :: n = 0
     integer(int32), allocatable :: ptr(:), col(:)
     real(real64), allocatable :: val(:), diag(:)
  end type csr
contains
  pure function conductivity(i, j) result(k)
    integer, intent(in) :: i, j
    real(real64) :: k
    k = 1.0_real64 + 0.9_real64*sin(0.05_real64*i)*cos(0.03_real64*j)
  end function conductivity

  subroutine assemble(a, nx, ny)
    type(csr), intent(out) :: a
    integer, intent(in) :: nx, ny
    integer :: i, j, r, k
    a%n = nx*ny
    allocate(a%ptr(a%n+1), a%col(5*a%n), a%val(5*a%n), a%diag(a%n))
    k = 1
    do j = 1, ny
       do i = 1, nx
          r = (j-1)*nx + i
          a%ptr(r) = k
          a%diag(r) = 0.001_real64
          if (j > 1) call entry(r, r-nx, 0.5_real64*(conductivity(i,j)+conductivity(i,j-1)))
          if (i > 1) call entry(r, r-1, 0.5_real64*(conductivity(i,j)+conductivity(i-1,j)))
          if (i < nx) call entry(r, r+1, 0.5_real64*(conductivity(i,j)+conductivity(i+1,j)))
          if (j < ny) call entry(r, r+nx, 0.5_real64*(conductivity(i,j)+conductivity(i,j+1)))
          a%col(k) = r
          a%val(k) = a%diag(r)
          k = k + 1
       end do
    end do
    a%ptr(a%n+1) = k
  contains
    subroutine entry(row, c, w)
      integer, intent(in) :: row, c
      real(real64), intent(in) :: w
      a%col(k) = c
      a%val(k) = -w
      a%diag(row) = a%diag(row) + w
      k = k + 1
    end subroutine entry
  end subroutine assemble

  subroutine spmv(a, x, y)
    type(csr), intent(in) :: a
    real(real64), intent(in) :: x(:)
    real(real64), intent(inout) :: y(:)
    integer :: i, k
    real(real64) :: s
    !$omp parallel do schedule(static) private(k, s)
    do i = 1, a%n
       s = 0
       do k = a%ptr(i), a%ptr(i+1)-1
          s = s + a%val(k)*x(a%col(k))
       end do
       y(i) = s
    end do
  end subroutine spmv

  function dot(x, y) result(s)
    real(real64), intent(in) :: x(:), y(:)
    real(real64) :: s
    integer :: i
    s = 0
    !$omp parallel do schedule(static) reduction(+:s)
    do i = 1, size(x)
       s = s + x(i)*y(i)
    end do
  end function dot
end module csr_mod

program cg
  use csr_mod
  use omp_lib
  implicit none
  integer, parameter :: nx = 480, ny = 420, maxit = 300
  type(csr) :: a
  real(real64), allocatable :: x(:), b(:), r(:), p(:), q(:), z(:)
  real(real64) :: rho, rho_old, alpha, beta
  integer :: nt, it, i, n
  character(len=16) :: arg

  nt = 4
  if (command_argument_count() > 0) then
     call get_command_argument(1, arg)
     read(arg, *) nt
  end if
  call omp_set_num_threads(nt)

  call assemble(a, nx, ny)
  n = a%n
  allocate(x(n), b(n), r(n), p(n), q(n), z(n))
  x = 0
  do i = 1, n
     b(i) = 1.0_real64 + 0.1_real64*mod(i, 17)
  end do
  r = b
  p = 0
  rho_old = 1

  do it = 1, maxit
     !$omp parallel do schedule(static)
     do i = 1, n
        z(i) = r(i)/a%diag(i)
     end do
     rho = dot(r, z)
     beta = merge(0.0_real64, rho/rho_old, it == 1)
     !$omp parallel do schedule(static)
     do i = 1, n
        p(i) = z(i) + beta*p(i)
     end do
     call spmv(a, p, q)
     alpha = rho/dot(p, q)
     !$omp parallel do schedule(static)
     do i = 1, n
        x(i) = x(i) + alpha*p(i)
        r(i) = r(i) - alpha*q(i)
     end do
     rho_old = rho
     if (sqrt(rho) < 1.0e-12_real64) exit
  end do
  print '(a,i0,a,es20.12)', 'cg: n = ', n, ', checksum ', sum(x)/n
end program cg
