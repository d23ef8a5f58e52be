/* The client of shaderc_tool/dropin/client.py again, for builds of thousands of calls: it starts in a millisecond.
 * `manage.py` puts two definitions in front of this text: GREETING, and SERVER_ARGV, the server's command line.
 * Whatever goes wrong, it becomes the real glslc. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#define GUARD "SHADERPACK_GLSLC_INSIDE"
#define DECLINED 0xFFFFFFFFu
#define LARGEST (16u << 20)
enum { LOCK = 3, START_TRIES = 150, PATH_SIZE = 4096 };

static char folder[PATH_SIZE];
static char real[PATH_SIZE];

static int is_self(const struct stat *found) {
    struct stat self;
#ifdef __APPLE__
    char path[PATH_SIZE];
    uint32_t size = sizeof path;
    if (_NSGetExecutablePath(path, &size) || stat(path, &self)) return 0;
#else
    if (stat("/proc/self/exe", &self)) return 0;
#endif
    return self.st_dev == found->st_dev && self.st_ino == found->st_ino;
}

static int usable(const char *head, size_t length, const char *tail) {
    struct stat found;
    if (!length) head = ".", length = 1;
    if (snprintf(real, sizeof real, "%.*s%s", (int)length, head, tail) >= (int)sizeof real) return 0;
    return !access(real, X_OK) && !stat(real, &found) && S_ISREG(found.st_mode) && !is_self(&found);
}

static int find_real(void) {
    const char *given = getenv("SHADERPACK_GLSLC"), *sdk = getenv("VULKAN_SDK"), *path = getenv("PATH");
    if (given && *given) return snprintf(real, sizeof real, "%s", given) < (int)sizeof real;
    if (sdk && *sdk && usable(sdk, strlen(sdk), "/bin/glslc")) return 1;
    if (!path) path = "/bin:/usr/bin";
    for (;;) {
        size_t length = strcspn(path, ":");
        if (usable(path, length, "/glslc")) return 1;
        if (!path[length]) return 0;
        path += length + 1;
    }
}

/* The cache folder of shaderc_tool/build/folders.py. */
static int find_folder(void) {
    const char *given = getenv("SHADERPACK_CACHE"), *home = getenv("HOME"), *xdg = getenv("XDG_CACHE_HOME");
    const char *middle = "/.cache/shaderpack";
    struct stat found;
    int length;
    if (given && *given) home = given, middle = "";
#ifdef __APPLE__
    else middle = "/Library/Caches/shaderpack";
#else
    else if (xdg && *xdg) home = xdg, middle = "/shaderpack";
#endif
    if (!home || !*home) return 0;
    length = snprintf(folder, sizeof folder, "%s%s/glslc-%s", home, middle, strrchr(GREETING, ' ') + 1);
    if (length >= (int)sizeof folder) return 0;
    if (lstat(folder, &found) && (mkdir(folder, 0700) || lstat(folder, &found))) return 0;
    return S_ISDIR(found.st_mode) && found.st_uid == getuid() && !(found.st_mode & 077);
}

static void become_server(int lock) {
    int nothing = open("/dev/null", O_RDWR), i;
    setsid();
    for (i = 0; i < 3; i++) dup2(nothing, i);
    if (lock != LOCK) dup2(lock, LOCK);
    else fcntl(LOCK, F_SETFD, 0);
    for (i = LOCK + 1; i < 256; i++) close(i);
    if (chdir("/")) _exit(1);
    {
        char *arguments[] = {SERVER_ARGV, folder, NULL};
        execv(arguments[0], arguments);
    }
    _exit(1);
}

/* True when this process has started a server; else one is starting, running or ending, and holds the lock. */
static int start_server(void) {
    char path[PATH_SIZE + 8];
    int lock;
    snprintf(path, sizeof path, "%s/lock", folder);
    lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) return 0;
    if (flock(lock, LOCK_EX | LOCK_NB)) {
        close(lock);
        return 0;
    }
    if (fork() == 0) become_server(lock);
    close(lock);
    return 1;
}

static int peer_is_me(int connection) {
#ifdef __APPLE__
    uid_t uid;
    gid_t gid;
    return !getpeereid(connection, &uid, &gid) && uid == getuid();
#else
    struct { int pid; uid_t uid; gid_t gid; } peer;
    socklen_t size = sizeof peer;
    return !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.uid == getuid();
#endif
}

static int reach_server(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timespec pause = {0, 20000000};
    int connection, started = 0, tries;
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s/s", folder) >= (int)sizeof address.sun_path) return -1;
    for (tries = 0; tries < START_TRIES; tries++) {
        connection = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connection < 0) return -1;
        if (!connect(connection, (struct sockaddr *)&address, sizeof address)) {
            if (peer_is_me(connection)) return connection;
            close(connection);
            return -1;
        }
        close(connection);
        if (!started) started = start_server();
        nanosleep(&pause, NULL);
    }
    return -1;
}

static int put(int to, const void *data, size_t size) {
    const char *from = data;
    while (size) {
        ssize_t done = write(to, from, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        from += done;
        size -= (size_t)done;
    }
    return 1;
}

static int get(int from, void *data, size_t size) {
    char *to = data;
    while (size) {
        ssize_t done = read(from, to, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        to += done;
        size -= (size_t)done;
    }
    return 1;
}

static int send_request(int connection, int count, char **arguments) {
    char head[3 * PATH_SIZE], here[PATH_SIZE];
    struct stat place;
    mode_t mask = umask(077);
    size_t size = 4, length;
    char *message, *at;
    uint32_t body;
    int i, ok;
    umask(mask);
    if (!getcwd(here, sizeof here) || stat(".", &place)) return 0;
    length = (size_t)snprintf(head, sizeof head, "%s%c%s%c%llu:%llu%c%o%c%s", GREETING, 0, here, 0,
                              (unsigned long long)place.st_dev, (unsigned long long)place.st_ino, 0, (unsigned)mask, 0,
                              real);
    if (length >= sizeof head) return 0;
    size += length;
    for (i = 0; i < count; i++) size += 1 + strlen(arguments[i]);
    message = malloc(size);
    if (!message) return 0;
    body = (uint32_t)(size - 4);
    for (i = 0; i < 4; i++) message[i] = (char)(body >> 8 * i);
    memcpy(message + 4, head, length);
    at = message + 4 + length;
    for (i = 0; i < count; i++) {
        *at++ = 0;
        at = memcpy(at, arguments[i], strlen(arguments[i]));
        at += strlen(arguments[i]);
    }
    ok = put(connection, message, size);
    free(message);
    return ok;
}

static uint32_t number(const unsigned char *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Exit status, or -1 when the real glslc has to run. */
static int ask(int count, char **arguments) {
    unsigned char head[16];
    uint32_t size, status, out, err;
    char *text;
    int connection = find_folder() ? reach_server() : -1;
    if (connection < 0 || !send_request(connection, count, arguments) || !get(connection, head, sizeof head)) return -1;
    size = number(head), status = number(head + 4), out = number(head + 8), err = number(head + 12);
    if (status == DECLINED || size > LARGEST || out > size || err > size || size != 12 + out + err) return -1;
    text = malloc(out + err + 1);
    if (!text || !get(connection, text, out + err)) return -1;
    put(1, text, out);
    put(2, text + out, err);
    return (int)status;
}

int main(int count, char **arguments) {
    int status;
    if (getenv(GUARD) || !find_real()) {
        fputs("shaderpack-glslc: error: no glslc on PATH but this one; set SHADERPACK_GLSLC\n", stderr);
        return 127;
    }
    status = ask(count - 1, arguments + 1);
    if (status >= 0) return status;
    setenv(GUARD, "1", 1);
    arguments[0] = real;
    execv(real, arguments);
    perror("shaderpack-glslc: error: the real glslc does not start");
    return 127;
}
