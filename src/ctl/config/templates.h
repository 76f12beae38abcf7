/* SPDX-License-Identifier: MIT */
/* The web servers' configuration files, built in from nginx/, apache/ and gateway/. */
#ifndef ADIT_CTL_CONFIG_TEMPLATES_H
#define ADIT_CTL_CONFIG_TEMPLATES_H

#include "ctl/front_table.h"

/* The templates of ctl/front_table.h, in which names such as @PREFIX@ are to be replaced. */
#define DECLARE_TEMPLATE(kind, template, ...) extern const char template_##template[];
WEB_SERVERS(DECLARE_TEMPLATE)
GATEWAYS(DECLARE_TEMPLATE)
#undef DECLARE_TEMPLATE

/* Follows nginx_upstream, unless the operator wants no limits. */
extern const char template_nginx_limits[];

#endif
