/* SPDX-License-Identifier: MIT */
/* Reading the secrets of the managed OAuth applications. */
#include "gate/managed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invisible.h"
#include "model/oauth_module.h"

/* Reads the first line.  Returns NULL, or what is wrong. */
static const char *read_line(int fd, char *line)
{
    ssize_t len = read(fd, line, OAUTH_TEXT_MAX + 2);
    struct invisible found;
    size_t end;

    if (len < 0)
        return strerror(errno);
    line[len] = '\0';
    end = strcspn(line, "\r\n");
    line[end] = '\0';
    if (invisible_find(text_of(line), &found))
        return "the first line has a character that does not show, such as a byte order mark; "
               "write "
               "the file anew";
    if (end == 0)
        return "the file has no secret in its first line";
    return end <= OAUTH_TEXT_MAX ? NULL : "the secret is longer than 1024 bytes";
}

static const char *read_managed_secret(const char *path, char **secret)
{
    char line[OAUTH_TEXT_MAX + 3];
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *fault = NULL;

    if (fd < 0 && errno == EACCES)
        fault = "this user may not read the file; run: chgrp adit-gate FILE && chmod 640 FILE";
    else if (fd < 0 || fstat(fd, &found) != 0)
        fault = strerror(errno);
    else if (!S_ISREG(found.st_mode))
        fault = "it is not a regular file";
    else if (found.st_mode & S_IROTH)
        fault = "others may read the file; run: chmod o= FILE";
    else
        fault = read_line(fd, line);
    if (!fault) {
        *secret = strdup(line);
        fault = *secret ? NULL : "out of memory";
    }
    explicit_bzero(line, sizeof line);
    if (fd >= 0)
        close(fd);
    return fault;
}

bool managed_read(struct gate *gate, char *reason, size_t size)
{
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        const struct conf_provider *provider = &gate->conf.oauth_providers[i];
        const char *name = gate->conf.provider_names[i];
        const char *fault = NULL;

        if (!provider->client_id[0] != !provider->client_secret_file[0]) {
            snprintf(reason, size,
                     "[provider.%s] has one of client_id and client_secret_file; set both or none",
                     name);
            return false;
        }
        if (provider->client_secret_file[0])
            fault = read_managed_secret(provider->client_secret_file, &gate->managed_secrets[i]);
        if (fault) {
            snprintf(reason, size, "%s: %s", provider->client_secret_file, fault);
            return false;
        }
    }
    return true;
}

void managed_free(struct gate *gate)
{
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        if (gate->managed_secrets[i])
            explicit_bzero(gate->managed_secrets[i], strlen(gate->managed_secrets[i]));
        free(gate->managed_secrets[i]);
    }
}
