! SPDX-License-Identifier: Apache-2.0
! Gravity between 1500 bodies, every pair, with the leapfrog scheme. OpenMP.
! label: place = cache-resident
! Why: 36 KB that all threads read again and again; it stays in every cache.
! action: place = none
! label: mass = cache-resident
! Why: 12 KB, read as often as `place` is.
! action: mass = none
! label: run = no NUMA problem
! Why: the rest is small too.
! action: run = none
program nbody
    implicit none
    integer, parameter :: bodies = 1500, steps = 6
    real(8), parameter :: dt = 1d-3
    real(8), allocatable :: place(:, :), speed(:, :), pull(:, :), mass(:)
    real(8) :: energy
    integer :: i, step
    allocate(place(3, bodies), speed(3, bodies), pull(3, bodies), mass(bodies))
    !$omp parallel do schedule(static)
    do i = 1, bodies
        place(:, i) = [cos(0.37d0 * i) * i, sin(0.37d0 * i) * i, 10d0 * sin(1.3d0 * i)]
        speed(:, i) = 0
        pull(:, i) = 0
        mass(i) = 1 + mod(i, 5)
    end do
    do step = 1, steps
        !$omp parallel do schedule(static)
        do i = 1, bodies
            call attract(i)
        end do
        !$omp parallel do schedule(static)
        do i = 1, bodies
            speed(:, i) = speed(:, i) + dt * pull(:, i)
            place(:, i) = place(:, i) + dt * speed(:, i)
        end do
    end do
    energy = 0
    do i = 1, bodies
        energy = energy + 0.5d0 * mass(i) * sum(speed(:, i)**2)
    end do
    print '(a, es14.6)', 'energy ', energy
    if (.not. energy > 0) stop 1
contains
    subroutine attract(i)
        integer, intent(in) :: i
        real(8) :: d(3), sum3(3), r2
        integer :: j
        sum3 = 0
        do j = 1, bodies
            d = place(:, j) - place(:, i)
            r2 = d(1)**2 + d(2)**2 + d(3)**2 + 0.01d0
            sum3 = sum3 + d * (mass(j) / (r2 * sqrt(r2)))
        end do
        pull(:, i) = sum3
    end subroutine
end program
