/* SPDX-License-Identifier: MIT */
/* The table of providers.  All take the client's secret in the form of the token request
 * (client_secret_post; RFC 6749, 2.3.1), and the token in a header (RFC 6750, 2.1). */
#include "gate/provider_table.h"

/* Twitch puts addresses into the answer only if it is asked for them:
 * {"userinfo":{"email":null,"email_verified":null,"preferred_username":null}} */
#define TWITCH_CLAIMS                                                                              \
    "claims=%7B%22userinfo%22%3A%7B%22email%22%3Anull%2C%22email_verified%22%3Anull%2C"            \
    "%22preferred_username%22%3Anull%7D%7D"

const struct provider provider_table[OAUTH_N_PROVIDERS] = {
    /* https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
     * https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps
     * https://docs.github.com/en/rest/users/users#get-the-authenticated-user
     * https://docs.github.com/en/rest/users/emails (an element's "primary" and "verified")
     * https://docs.github.com/en/rest/orgs/orgs#list-organizations-for-the-authenticated-user
     * https://docs.github.com/en/rest/teams/teams#list-teams-for-the-authenticated-user */
    {.authorize_url = "https://github.com/login/oauth/authorize",
     .token_url = "https://github.com/login/oauth/access_token",
     .user_url = "https://api.github.com/user",
     .user_query = "",
     .authorize_query = "",
     .subject = "id",
     .name = "login",
     .emails = PROVIDER_EMAILS_LIST,
     .takes_pkce = true},

    /* https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow
     * https://developers.facebook.com/docs/graph-api/reference/user
     * "email" is the primary address of the profile.  No page says that it is verified.  PKCE is
     * documented for its OpenID Connect flow only, as a test. */
    {.authorize_url = "https://www.facebook.com/v21.0/dialog/oauth",
     .token_url = "https://graph.facebook.com/v21.0/oauth/access_token",
     .user_url = "https://graph.facebook.com/v21.0/me",
     .user_query = "fields=id,name",
     .authorize_query = "",
     .subject = "id",
     .name = "name",
     .emails = PROVIDER_EMAILS_NONE},

    /* https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow
     * https://learn.microsoft.com/entra/identity-platform/userinfo
     * https://learn.microsoft.com/entra/identity-platform/migrate-off-email-claim-authorization
     * Anybody who has a tenant writes any "email" into it.  The last page says who has verified it.
     */
    {.authorize_url = "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
     .token_url = "https://login.microsoftonline.com/common/oauth2/v2.0/token",
     .user_url = "https://graph.microsoft.com/oidc/userinfo",
     .user_query = "",
     .authorize_query = "",
     .offline_scopes = "offline_access",
     .subject = "sub",
     .name = "name",
     .emails = PROVIDER_EMAILS_TENANT,
     .takes_pkce = true},

    /* https://developers.google.com/identity/openid-connect/openid-connect
     * https://accounts.google.com/.well-known/openid-configuration
     * https://developers.google.com/identity/protocols/oauth2/web-server: without a consent at each
     * sign-in, only the first one gives a refresh token.
     * https://developers.google.com/identity/gsi/web/guides/verify-google-id-token: Google answers
     * for an address only if it is of gmail.com or "hd" names the organization.  Any other one was
     * verified once, when the account was made. */
    {.authorize_url = "https://accounts.google.com/o/oauth2/v2/auth",
     .token_url = "https://oauth2.googleapis.com/token",
     .user_url = "https://openidconnect.googleapis.com/v1/userinfo",
     .user_query = "",
     .authorize_query = "",
     .offline_query = "access_type=offline&prompt=consent",
     .subject = "sub",
     .name = "name",
     .emails = PROVIDER_EMAILS_HOSTED,
     .takes_pkce = true},

    /* https://learn.microsoft.com/linkedin/consumer/ (Sign In with LinkedIn using OpenID Connect)
     * https://learn.microsoft.com/linkedin/shared/authentication/authorization-code-flow
     * PKCE is for native clients, and LinkedIn has to enable it for each of them. */
    {.authorize_url = "https://www.linkedin.com/oauth/v2/authorization",
     .token_url = "https://www.linkedin.com/oauth/v2/accessToken",
     .user_url = "https://api.linkedin.com/v2/userinfo",
     .user_query = "",
     .authorize_query = "",
     .subject = "sub",
     .name = "name",
     .emails = PROVIDER_EMAILS_VERIFIED},

    /* https://docs.gitlab.com/integration/openid_connect_provider/
     * https://docs.gitlab.com/api/oauth2/ */
    {.authorize_url = "https://gitlab.com/oauth/authorize",
     .token_url = "https://gitlab.com/oauth/token",
     .user_url = "https://gitlab.com/oauth/userinfo",
     .user_query = "",
     .authorize_query = "",
     .subject = "sub",
     .name = "nickname",
     .emails = PROVIDER_EMAILS_VERIFIED,
     .takes_pkce = true},

    /* https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/
     * It documents no PKCE. */
    {.authorize_url = "https://id.twitch.tv/oauth2/authorize",
     .token_url = "https://id.twitch.tv/oauth2/token",
     .user_url = "https://id.twitch.tv/oauth2/userinfo",
     .user_query = "",
     .authorize_query = TWITCH_CLAIMS,
     .subject = "sub",
     .name = "preferred_username",
     .emails = PROVIDER_EMAILS_VERIFIED},

    /* https://developer.amazon.com/docs/login-with-amazon/authorization-code-grant.html
     * https://developer.amazon.com/docs/login-with-amazon/obtain-customer-profile.html
     * "email" is what the customer has registered.  No page says that it is verified. */
    {.authorize_url = "https://www.amazon.com/ap/oa",
     .token_url = "https://api.amazon.com/auth/o2/token",
     .user_url = "https://api.amazon.com/user/profile",
     .user_query = "",
     .authorize_query = "",
     .subject = "user_id",
     .name = "name",
     .emails = PROVIDER_EMAILS_NONE,
     .takes_pkce = true},
};
