/* Carries out what benchmarks/smpi.py writes down for each rank, under SimGrid's SMPI: smpicc smpi.c -o smpi

   smpi STEPS LARGEST MOST   reads STEPS.0, STEPS.1, ...; LARGEST: bytes of the largest message, MOST: messages at once.
   "s 3 100" and "r 3 100" begin to send 100 bytes to rank 3 and to receive them, "w" waits for all, "c 0.5" sleeps. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int me, peer, begun = 0;
    long nbytes;
    double seconds, last;
    char name[4096], what;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    snprintf(name, sizeof name, "%s.%d", argv[1], me);
    FILE *steps = fopen(name, "r");
    char *buffer = malloc(atol(argv[2]) + 1); /* of all messages: nobody looks at what comes */
    MPI_Request *requests = malloc((atol(argv[3]) + 1) * sizeof *requests);
    while (fscanf(steps, " %c", &what) == 1) {
        if (what == 'w') {
            MPI_Waitall(begun, requests, MPI_STATUSES_IGNORE);
            begun = 0;
        } else if (what == 'c') {
            if (fscanf(steps, "%lf", &seconds) == 1)
                usleep(1e6 * seconds);
        } else if (fscanf(steps, "%d %ld", &peer, &nbytes) == 2) {
            if (what == 's')
                MPI_Isend(buffer, nbytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[begun++]);
            else
                MPI_Irecv(buffer, nbytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[begun++]);
        }
    }
    seconds = MPI_Wtime();
    MPI_Reduce(&seconds, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (me == 0)
        printf("seconds %.12g\n", last);
    MPI_Finalize();
    return 0;
}
