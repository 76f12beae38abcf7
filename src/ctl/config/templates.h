/* SPDX-License-Identifier: MIT */
/* The web servers' configuration files, built in from nginx/, apache/ and gateway/. */
#ifndef ADIT_CTL_CONFIG_TEMPLATES_H
#define ADIT_CTL_CONFIG_TEMPLATES_H

/* "aditctl web-server" replaces names such as @PREFIX@ in these. */
extern const char template_nginx_adit[];
extern const char template_nginx_upstream[];
extern const char template_nginx_limits[];
extern const char template_apache_fcgid[];
extern const char template_apache_proxy_fcgi[];
extern const char template_apache_cgid[];
extern const char template_apache_common[];

/* "aditctl gateway-config" fills in these. */
extern const char template_gateway_sshd[];
extern const char template_gateway_sshd_logins[];
extern const char template_gateway_nginx_tls[];
extern const char template_gateway_apache_tls[];
extern const char template_gateway_haproxy[];
extern const char template_gateway_nginx_oauth[];
extern const char template_gateway_apache_oauth[];
extern const char template_gateway_nginx_sign_ins[];

#endif
