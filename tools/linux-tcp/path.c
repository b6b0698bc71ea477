/*
 * A path between two network namespaces: a rate with a drop-tail queue one way, and a delay both
 * ways. It stands in for tbf and netem, which many kernels lack, and it is exact: departures are
 * computed, not timed, so a late wake-up does not slow the link down. When the machine stalls for
 * longer than a millisecond the path's clock stops with it: packets keep their distances, where
 * they would otherwise all come at once, and the report tells how long the clock stood.
 *
 *   path NSFD_A NSFD_B RATE QUEUE DELAY_US
 *
 * NSFD_A, NSFD_B  open file descriptors of the namespaces of the sender and the receiver
 * RATE            bytes per second from A to B, counted from the IP header on; 0: no limit
 * QUEUE           bytes that may wait, besides the packet that is being sent
 * DELAY_US        propagation delay of each direction in microseconds
 *
 * Makes the TUN device hop0 on either side, 10.9.0.1 at A and 10.9.0.2 at B, with segmentation
 * offload off; prints "ready", and on end of its standard input one line:
 *   forwarded N dropped N queueing_us MEAN stopped_us SUM
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MTU = 1500, RING = 1 << 13, STALL_NS = 1000000 };

struct packet {
    uint64_t due;
    uint16_t size;
    uint8_t bytes[MTU];
};

/* One direction. The ring holds what waits and what is in flight, in order of arrival. */
struct link {
    int from, to;
    uint64_t rate, queue;
    uint64_t free_at;
    struct packet ring[RING];
    uint32_t head, tail;
    /* What waits for its sending: start of service and size, as a ring of its own. */
    struct { uint64_t start; uint32_t size; } waiting[RING];
    uint32_t first, last;
    uint64_t backlog;
    uint64_t forwarded, dropped, queueing;
};

static struct link forward, backward;
static uint64_t delay, stopped;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* The path's clock. */
static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - stopped;
}

static void control(int sock, unsigned long request, struct ifreq *ifr, const char *what)
{
    if (ioctl(sock, request, ifr) < 0)
        die(what);
}

static void set_address(int sock, const char *address)
{
    struct ifreq ifr = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)&ifr.ifr_addr;
    strcpy(ifr.ifr_name, "hop0");
    in->sin_family = AF_INET;
    inet_pton(AF_INET, address, &in->sin_addr);
    control(sock, SIOCSIFADDR, &ifr, "address");
    inet_pton(AF_INET, "255.255.255.0", &in->sin_addr);
    control(sock, SIOCSIFNETMASK, &ifr, "netmask");
}

static void set_device(int sock)
{
    struct ifreq ifr = {0};
    strcpy(ifr.ifr_name, "hop0");
    ifr.ifr_mtu = MTU;
    control(sock, SIOCSIFMTU, &ifr, "mtu");
    ifr.ifr_qlen = RING;
    control(sock, SIOCSIFTXQLEN, &ifr, "queue length");
    uint32_t requests[] = {ETHTOOL_SGSO, ETHTOOL_STSO, ETHTOOL_SGRO};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct ethtool_value off = {.cmd = requests[i], .data = 0};
        ifr.ifr_data = (void *)&off;
        /* A device without the feature refuses to switch it off. */
        if (ioctl(sock, SIOCETHTOOL, &ifr) < 0 && errno != EOPNOTSUPP)
            die("offload");
    }
    ifr.ifr_flags = IFF_UP | IFF_RUNNING;
    control(sock, SIOCSIFFLAGS, &ifr, "up");
}

static int open_tun(int namespace, const char *address)
{
    if (setns(namespace, CLONE_NEWNET) < 0)
        die("setns");
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (tun < 0)
        die("/dev/net/tun");
    struct ifreq ifr = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strcpy(ifr.ifr_name, "hop0");
    control(tun, TUNSETIFF, &ifr, "TUNSETIFF");
    int sock = socket(AF_INET, SOCK_DGRAM, 0);
    if (sock < 0)
        die("socket");
    set_address(sock, address);
    set_device(sock);
    close(sock);
    return tun;
}

/* When a packet that comes now has been sent; 0 if the queue is full. */
static uint64_t departure(struct link *link, uint64_t now, uint32_t size)
{
    if (!link->rate)
        return now;
    while (link->first != link->last && link->waiting[link->first % RING].start <= now)
        link->backlog -= link->waiting[link->first++ % RING].size;
    if (link->free_at > now) {
        if (link->backlog + size > link->queue)
            return 0;
        link->waiting[link->last % RING].start = link->free_at;
        link->waiting[link->last++ % RING].size = size;
        link->backlog += size;
        link->queueing += link->free_at - now;
    } else {
        link->free_at = now;
    }
    link->free_at += (size * 1000000000ull + link->rate - 1) / link->rate;
    return link->free_at;
}

static void take_in(struct link *link)
{
    for (;;) {
        struct packet *slot = &link->ring[link->tail % RING];
        ssize_t size = read(link->from, slot->bytes, MTU);
        if (size <= 0)
            return;
        uint64_t sent = departure(link, now_ns(), (uint32_t)size);
        if (!sent || link->tail - link->head == RING - 1) {
            link->dropped++;
            continue;
        }
        slot->due = sent + delay;
        slot->size = (uint16_t)size;
        link->forwarded++;
        link->tail++;
    }
}

/* Sets the clock back by the time that the next packet is late, if that is long. */
static void absorb_stall(void)
{
    uint64_t now = now_ns(), due = now;
    if (forward.head != forward.tail && forward.ring[forward.head % RING].due < due)
        due = forward.ring[forward.head % RING].due;
    if (backward.head != backward.tail && backward.ring[backward.head % RING].due < due)
        due = backward.ring[backward.head % RING].due;
    if (now - due > STALL_NS)
        stopped += now - due;
}

static void put_out(struct link *link, uint64_t now, uint64_t *next)
{
    while (link->head != link->tail) {
        struct packet *packet = &link->ring[link->head % RING];
        if (packet->due > now) {
            if (packet->due < *next)
                *next = packet->due;
            return;
        }
        if (write(link->to, packet->bytes, packet->size) < 0)
            perror("write");
        link->head++;
    }
}

static void run(void)
{
    struct pollfd fds[] = {
        {.fd = forward.from, .events = POLLIN},
        {.fd = backward.from, .events = POLLIN},
        {.fd = STDIN_FILENO, .events = POLLIN},
    };
    while (!fds[2].revents) {
        absorb_stall();
        take_in(&forward);
        take_in(&backward);
        uint64_t now = now_ns(), next = now + 1000000000u;
        put_out(&forward, now, &next);
        put_out(&backward, now, &next);
        now = now_ns();
        uint64_t wait = next > now ? next - now : 0;
        struct timespec timeout = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};
        ppoll(fds, 3, &timeout, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: path NSFD_A NSFD_B RATE QUEUE DELAY_US\n");
        return 2;
    }
    int a = open_tun(atoi(argv[1]), "10.9.0.1"), b = open_tun(atoi(argv[2]), "10.9.0.2");
    forward.from = backward.to = a;
    forward.to = backward.from = b;
    forward.rate = strtoull(argv[3], NULL, 10);
    forward.queue = strtoull(argv[4], NULL, 10);
    delay = strtoull(argv[5], NULL, 10) * 1000u;
    prctl(PR_SET_TIMERSLACK, 1);
    struct sched_param priority = {.sched_priority = 10};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) < 0)
        perror("real-time priority");
    puts("ready");
    fflush(stdout);
    run();
    uint64_t count = forward.forwarded ? forward.forwarded : 1;
    printf("forwarded %llu dropped %llu queueing_us %llu stopped_us %llu\n",
           (unsigned long long)forward.forwarded, (unsigned long long)forward.dropped,
           (unsigned long long)(forward.queueing / count / 1000),
           (unsigned long long)(stopped / 1000));
    return 0;
}
