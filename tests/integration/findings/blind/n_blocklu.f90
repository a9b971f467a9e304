! SPDX-License-Identifier: Apache-2.0
! The loop over the remaining columns is divided anew in each step, so columns change their thread.
! label: a = pages change users
! action: a = divide | spread
! harm: a = local
! label: a0 = serial first touch
! action: a0 = local | none
! Blocked right-looking LU factorisation without pivoting.
program blocklu
  use omp_lib
  implicit none
  integer, parameter :: n = 1024, nb = 64
  real(8), allocatable :: a(:,:), a0(:,:), xsol(:), y(:)
  integer :: i, j, k, kk, l, kend, nt, ios
  real(8) :: err
  character(len=16) :: arg

  call get_environment_variable('OMP_NUM_THREADS', arg, status=ios)
  if (ios /= 0) call omp_set_num_threads(4)
  if (command_argument_count() > 0) then
    call get_command_argument(1, arg)
    read (arg, *) nt
    call omp_set_num_threads(nt)
  end if

  allocate (a(n,n), a0(n,n), xsol(n), y(n))
  !$omp parallel do schedule(static) private(i)
  do j = 1, n
    do i = 1, n
      a(i,j) = sin(real(mod(i*37 + j*101, 1009), 8))
    end do
    a(j,j) = a(j,j) + n
  end do
  !$omp end parallel do
  a0 = a

  !$omp parallel private(i, j, k, kk, l, kend)
  do k = 1, n, nb
    kend = k + nb - 1
    !$omp master
    do kk = k, kend
      do i = kk + 1, n
        a(i,kk) = a(i,kk)/a(kk,kk)
      end do
      do l = kk + 1, kend
        do i = kk + 1, n
          a(i,l) = a(i,l) - a(i,kk)*a(kk,l)
        end do
      end do
    end do
    !$omp end master
    !$omp barrier
    !$omp do schedule(static)
    do j = kend + 1, n
      do kk = k, kend
        do i = kk + 1, n
          a(i,j) = a(i,j) - a(i,kk)*a(kk,j)
        end do
      end do
    end do
    !$omp end do
  end do
  !$omp end parallel

  ! solve L U x = (1,...,1), then compare A x
  xsol = 1.0d0
  do j = 1, n
    do i = j + 1, n
      xsol(i) = xsol(i) - a(i,j)*xsol(j)
    end do
  end do
  do j = n, 1, -1
    xsol(j) = xsol(j)/a(j,j)
    do i = 1, j - 1
      xsol(i) = xsol(i) - a(i,j)*xsol(j)
    end do
  end do
  y = 0.0d0
  !$omp parallel do schedule(static) private(i) reduction(+:y)
  do j = 1, n
    do i = 1, n
      y(i) = y(i) + a0(i,j)*xsol(j)
    end do
  end do
  !$omp end parallel do
  err = maxval(abs(y - 1.0d0))
  print '(a,es14.6,a,l1)', 'sum x ', sum(xsol), ' ok ', err < 1.0d-9
end program blocklu
