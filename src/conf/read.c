/* SPDX-License-Identifier: MIT */
/* Reads all settings: the defaults, and then the file. */
#include <stdio.h>

#include "conf/file.h"
#include "conf/parse.h"
#include "conf/setting.h"

static bool set_defaults(struct conf *conf)
{
    for (size_t i = 0; i < conf_n_settings; i++) {
        for (size_t which = 0; which < conf_n_values(&conf_settings[i]); which++) {
            if (conf_set(conf, &conf_settings[i], which, conf_settings[i].standard))
                return false;
        }
    }
    return true;
}

bool conf_read(struct conf *conf, const char *path, char reason[CONF_REASON_SIZE])
{
    FILE *file = NULL;
    bool ok;

    *conf = (struct conf){.path = NULL};
    if (!set_defaults(conf)) {
        snprintf(reason, CONF_REASON_SIZE, "out of memory");
        return false;
    }
    if (!conf_file_open(path, &conf->path, &file, reason))
        return false;
    ok = !file || conf_parse(conf, file, reason);
    if (file)
        fclose(file);
    return ok && conf_complete(conf, reason);
}
