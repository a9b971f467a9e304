! SPDX-License-Identifier: Apache-2.0
! Main fills the matrix. Each thread then has a part of each level: stripes of a few pages.
! label: val = serial first touch
! action: val = local
! harm: val = copy
! label: col = serial first touch
! action: col = local
! harm: col = copy
! label: diag = serial first touch
! action: diag = local
! label: rowptr = serial first touch
! action: rowptr = local | none
! label: x = shared, written
! action: x = spread | none
! label: b = pages change users
! action: b = divide | spread
! Sparse lower triangular solve with level sets (rows sorted by level).
program sptrsv
  use omp_lib
  implicit none
  integer, parameter :: nlev = 40, w = 4000, per = 8, nsolve = 60
  integer, parameter :: n = nlev*w
  real(8), allocatable :: val(:), x(:), b(:), diag(:)
  integer, allocatable :: col(:), rowptr(:)
  integer :: levptr(nlev+1)
  integer :: i, k, l, s, nz, nt, ios
  integer(8) :: seed
  real(8) :: t, total
  character(len=16) :: arg

  call get_environment_variable('OMP_NUM_THREADS', arg, status=ios)
  if (ios /= 0) call omp_set_num_threads(4)
  if (command_argument_count() > 0) then
    call get_command_argument(1, arg)
    read (arg, *) nt
    call omp_set_num_threads(nt)
  end if

  allocate (val(n*per), col(n*per), rowptr(n+1), diag(n), x(n), b(n))
  seed = 12345
  nz = 1
  do l = 1, nlev
    levptr(l) = (l-1)*w + 1
    do i = levptr(l), levptr(l) + w - 1
      rowptr(i) = nz
      diag(i) = 4.0d0 + mod(i, 7)
      if (l > 1) then
        do k = 1, per
          seed = mod(seed*1103515245_8 + 12345_8, 2147483648_8)
          col(nz) = (l-2)*w + 1 + int(mod(seed/16, int(w, 8)))
          val(nz) = 0.3d0 - 0.1d0*mod(k + i, 5)
          nz = nz + 1
        end do
      end if
    end do
  end do
  levptr(nlev+1) = n + 1
  rowptr(n+1) = nz
  x = 0.0d0
  do i = 1, n
    b(i) = 1.0d0 + mod(i, 13)
  end do

  !$omp parallel private(s, l, i, k, t)
  do s = 1, nsolve
    do l = 1, nlev
      !$omp do schedule(static)
      do i = levptr(l), levptr(l+1) - 1
        t = b(i)
        do k = rowptr(i), rowptr(i+1) - 1
          t = t - val(k)*x(col(k))
        end do
        x(i) = t/diag(i)
      end do
      !$omp end do
    end do
    !$omp do schedule(static)
    do i = 1, n
      b(i) = 0.5d0*b(i) + 0.25d0*x(i) + 1.0d0
    end do
    !$omp end do
  end do
  !$omp end parallel

  total = 0.0d0
  do i = 1, n
    total = total + x(i)*mod(i, 3)
  end do
  print '(a,i0,a,es16.8)', 'nnz ', nz - 1, ' sum ', total
end program sptrsv
