/* SPDX-License-Identifier: MIT */
/* The certificate authority that no client certificate is from. */
#ifndef ADIT_GATEWAY_UNISSUED_CA_H
#define ADIT_GATEWAY_UNISSUED_CA_H

/* Valid until 2126.  Its key was never stored:
 *   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout /dev/null \
 *       -days 36525 -subj /O=Adit/CN=nobody -addext basicConstraints=critical,CA:TRUE,pathlen:0 \
 *       -addext keyUsage=critical,keyCertSign */
#define UNISSUED_CA_PEM                                                                            \
    "-----BEGIN CERTIFICATE-----\n"                                                                \
    "MIIBqTCCAVCgAwIBAgIUYPjw5CVZUldgTnTPZoeH1U6DC/AwCgYIKoZIzj0EAwIw\n"                           \
    "IDENMAsGA1UECgwEQWRpdDEPMA0GA1UEAwwGbm9ib2R5MCAXDTI2MTEyMjEyMjUz\n"                           \
    "MVoYDzIxMjYxMTIzMTIyNTMxWjAgMQ0wCwYDVQQKDARBZGl0MQ8wDQYDVQQDDAZu\n"                           \
    "b2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQE+hqXGHactCM5l08jxLa9\n"                           \
    "KSabxvnT3MNRY8SOBJ5cwP+AhjmJuxkskyALIdmyf4smQ6nTsXhamOetV+ad2FhR\n"                           \
    "o2YwZDAdBgNVHQ4EFgQUnzvJKdOx5pcHpZJulGpDsHZEM4owHwYDVR0jBBgwFoAU\n"                           \
    "nzvJKdOx5pcHpZJulGpDsHZEM4owEgYDVR0TAQH/BAgwBgEB/wIBADAOBgNVHQ8B\n"                           \
    "Af8EBAMCAgQwCgYIKoZIzj0EAwIDRwAwRAIgZr5rCYipQnlsrx361aYEChIMmqiA\n"                           \
    "zo1H1qlrT+2UZlcCIBqiyifY/nZ82UbOmFfNxilSY9OcN1OLN6vR2AX/3mTM\n"                               \
    "-----END CERTIFICATE-----\n"

#endif
