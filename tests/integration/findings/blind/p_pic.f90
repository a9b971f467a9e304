! SPDX-License-Identifier: Apache-2.0
! Two threads fill the particles, which all threads move and add to a grid.
! label: electrons.x = remote first touch | serial first touch
! called: electrons.x = s.x
! action: electrons.x = local
! harm: electrons.x = copy
! label: electrons.y = remote first touch | serial first touch
! called: electrons.y = s.y
! action: electrons.y = local
! harm: electrons.y = copy
! label: electrons.vx = remote first touch | serial first touch
! called: electrons.vx = s.vx
! action: electrons.vx = local
! harm: electrons.vx = copy
! label: electrons.vy = remote first touch | serial first touch
! called: electrons.vy = s.vy
! action: electrons.vy = local
! harm: electrons.vy = copy
! label: ions.x = remote first touch | serial first touch
! called: ions.x = s.x
! action: ions.x = local
! harm: ions.x = copy
! label: ions.y = remote first touch | serial first touch
! called: ions.y = s.y
! action: ions.y = local
! harm: ions.y = copy
! label: ions.vx = remote first touch | serial first touch
! called: ions.vx = s.vx
! action: ions.vx = local
! harm: ions.vx = copy
! label: ions.vy = remote first touch | serial first touch
! called: ions.vy = s.vy
! action: ions.vy = local
! harm: ions.vy = copy
! label: rho = shared, written | true sharing of cache lines | hot pages | false sharing of cache lines
! action: rho = divide
! harm: rho = spread
! minor: ex = shared, read-mostly | cache-resident | shared, written | partitioned
! action: ex = divide | spread | none
! minor: ey = shared, read-mostly | cache-resident | shared, written | partitioned
! action: ey = divide | spread | none
! minor: phi = serial first touch | cache-resident
! action: phi = local
! minor: run = load imbalance
! Electrostatic particle-in-cell code with two species, periodic box.
module pic_mod
  use iso_fortran_env, only: dp => real64, i8 => int64
  implicit none
  integer, parameter :: nx = 256, ny = 256
  type species
     integer :: n = 0
     real(dp) :: charge = 0, mass = 1
     real(dp), allocatable :: x(:), y(:), vx(:), vy(:)
  end type species
  real(dp) :: rho(0:nx-1, 0:ny-1), phi(0:nx-1, 0:ny-1)
  real(dp) :: ex(0:nx-1, 0:ny-1), ey(0:nx-1, 0:ny-1)
contains
  subroutine load(s, n, charge, mass, vth, seed)
    type(species), intent(inout) :: s
    integer, intent(in) :: n
    real(dp), intent(in) :: charge, mass, vth
    integer(i8), intent(in) :: seed
    integer(i8) :: st
    integer :: i
    s%n = n
    s%charge = charge
    s%mass = mass
    allocate(s%x(n), s%y(n), s%vx(n), s%vy(n))
    st = seed
    do i = 1, n
       s%x(i) = nx*uniform(st)
       s%y(i) = ny*uniform(st)
       s%vx(i) = vth*(uniform(st) + uniform(st) + uniform(st) - 1.5_dp)
       s%vy(i) = vth*(uniform(st) + uniform(st) + uniform(st) - 1.5_dp)
    end do
  end subroutine load

  function uniform(st) result(u)
    integer(i8), intent(inout) :: st
    real(dp) :: u
    st = ieor(st, ishft(st, 13))
    st = ieor(st, ishft(st, -7))
    st = ieor(st, ishft(st, 17))
    u = real(ishft(st, -11), dp)/9007199254740992.0_dp
  end function uniform

  subroutine deposit(s)
    type(species), intent(in) :: s
    integer :: p, i, j
    real(dp) :: fx, fy
    !$omp parallel do schedule(static) private(i, j, fx, fy)
    do p = 1, s%n
       i = int(s%x(p))
       j = int(s%y(p))
       fx = s%x(p) - i
       fy = s%y(p) - j
       call add(i, j, s%charge*(1-fx)*(1-fy))
       call add(i+1, j, s%charge*fx*(1-fy))
       call add(i, j+1, s%charge*(1-fx)*fy)
       call add(i+1, j+1, s%charge*fx*fy)
    end do
  end subroutine deposit

  subroutine add(i, j, q)
    integer, intent(in) :: i, j
    real(dp), intent(in) :: q
    integer :: a, b
    a = iand(i, nx-1)
    b = iand(j, ny-1)
    !$omp atomic
    rho(a, b) = rho(a, b) + q
  end subroutine add

  subroutine solve(sweeps)
    integer, intent(in) :: sweeps
    integer :: i, j, k, c
    do k = 1, sweeps
       do c = 0, 1
          !$omp parallel do schedule(static) private(i)
          do j = 0, ny-1
             do i = iand(j+c, 1), nx-1, 2
                phi(i, j) = 0.25_dp*(phi(iand(i+1, nx-1), j) + phi(iand(i-1, nx-1), j) &
                     + phi(i, iand(j+1, ny-1)) + phi(i, iand(j-1, ny-1)) + rho(i, j))
             end do
          end do
       end do
    end do
    !$omp parallel do schedule(static) private(i)
    do j = 0, ny-1
       do i = 0, nx-1
          ex(i, j) = 0.5_dp*(phi(iand(i-1, nx-1), j) - phi(iand(i+1, nx-1), j))
          ey(i, j) = 0.5_dp*(phi(i, iand(j-1, ny-1)) - phi(i, iand(j+1, ny-1)))
       end do
    end do
  end subroutine solve

  subroutine push(s, dt)
    type(species), intent(inout) :: s
    real(dp), intent(in) :: dt
    integer :: p, i, j
    real(dp) :: qm
    qm = dt*s%charge/s%mass
    !$omp parallel do schedule(static) private(i, j)
    do p = 1, s%n
       i = iand(int(s%x(p)), nx-1)
       j = iand(int(s%y(p)), ny-1)
       s%vx(p) = s%vx(p) + qm*ex(i, j)
       s%vy(p) = s%vy(p) + qm*ey(i, j)
       s%x(p) = modulo(s%x(p) + dt*s%vx(p), real(nx, dp))
       s%y(p) = modulo(s%y(p) + dt*s%vy(p), real(ny, dp))
    end do
  end subroutine push
end module pic_mod

program pic
  use pic_mod
  use omp_lib
  implicit none
  type(species) :: electrons, ions
  integer :: nt, s
  character(len=16) :: arg

  nt = 4
  if (command_argument_count() > 0) then
     call get_command_argument(1, arg)
     read(arg, *) nt
  end if
  call omp_set_num_threads(nt)

  !$omp parallel sections
  !$omp section
  call load(electrons, 400000, -0.01_dp, 1.0_dp, 1.0_dp, 123456789_i8)
  !$omp section
  call load(ions, 400000, 0.01_dp, 100.0_dp, 0.05_dp, 987654321_i8)
  !$omp end parallel sections
  phi = 0

  do s = 1, 20
     !$omp parallel workshare
     rho = 0
     !$omp end parallel workshare
     call deposit(electrons)
     call deposit(ions)
     call solve(10)
     call push(electrons, 0.2_dp)
     call push(ions, 0.2_dp)
  end do
  print '(a,es16.8)', 'pic: checksum ', sum(abs(electrons%vx)) + sum(electrons%x) + sum(ions%y)
end program pic
