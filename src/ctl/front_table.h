/* SPDX-License-Identifier: MIT */
/* The configurations that "aditctl web-server" and "aditctl gateway-config" print: one row each.
 * The verbs, their help and messages, and the tests take the kinds from here.
 *
 * WEB_SERVER(kind, template, form)
 *     kind      what the operator types
 *     template  nginx_adit is nginx/adit.conf.in, one of web_server_templates in
 * config/templates.am form      CONNECTS, to the responder's socket; STARTS, the program itself;
 * UPSTREAM, says where the socket is and has limits, for another kind
 *
 * GATEWAY(kind, template, fill, options)
 *     fill      the function of config/gateway_config.c that fills in the template
 *     options   those that it takes, with a blank around each
 *
 * tests/man-guard compares the kinds with man/aditctl.8, and tests/e2e/test_fronts.py tries those
 * of web servers.
 */
#ifndef ADIT_CTL_FRONT_TABLE_H
#define ADIT_CTL_FRONT_TABLE_H

/* clang-format off */

#define WEB_SERVERS(WEB_SERVER)                                                                    \
    WEB_SERVER("nginx",             nginx_adit,        CONNECTS)                                   \
    WEB_SERVER("nginx-upstream",    nginx_upstream,    UPSTREAM)                                   \
    WEB_SERVER("apache-fcgid",      apache_fcgid,      STARTS)                                     \
    WEB_SERVER("apache-proxy-fcgi", apache_proxy_fcgi, CONNECTS)                                   \
    WEB_SERVER("apache-cgid",       apache_cgid,       STARTS)

#define GATEWAYS(GATEWAY)                                                                          \
    GATEWAY("sshd",           gateway_sshd,           fill_in_sshd,        " user account domain ") \
    GATEWAY("sshd-logins",    gateway_sshd_logins,    fill_in_sshd_logins, "")                     \
    GATEWAY("nginx-tls",      gateway_nginx_tls,      fill_in_tls,         " domain certificates ") \
    GATEWAY("apache-tls",     gateway_apache_tls,     fill_in_tls,         " domain certificates ") \
    GATEWAY("haproxy",        gateway_haproxy,        fill_in_tls,         " domain certificates ") \
    GATEWAY("nginx-oauth",    gateway_nginx_oauth,    gate_config_fill,                            \
            " account route url application socket ")                                              \
    GATEWAY("nginx-sign-ins", gateway_nginx_sign_ins, fill_in_sign_ins,    "")                     \
    GATEWAY("apache-oauth",   gateway_apache_oauth,   gate_config_fill,                            \
            " account route url application ")

/* clang-format on */

/* The kinds, '|' between two. */
#define FRONT_CHOICE(kind, ...) "|" kind
#define WEB_SERVER_KINDS (&(WEB_SERVERS(FRONT_CHOICE))[1])
#define GATEWAY_KINDS (&(GATEWAYS(FRONT_CHOICE))[1])

#endif
