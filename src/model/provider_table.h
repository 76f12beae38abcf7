/* SPDX-License-Identifier: MIT */
/* The identity providers, as their documentation says.  C, documents, the console and tests
 * take from here what they know of each.
 *
 * IDENTITY_PROVIDER(symbol, name, title, teams, members)
 *
 *     symbol   of the position, PROVIDER_symbol.  The database stores the position, which is the
 *              place of the row, from 1: a new row is the last one
 *     name     the default one; a deployment may call it otherwise
 *     title    how people call it
 *     teams    HAS_TEAMS(scopes, of organizations, of teams): teams and organizations may be
 *              listed; what adit-gate asks for besides to read them.  Or HAS_NO_TEAMS
 *     members  of struct identity_provider, the others of which are NULL: it has no such thing
 *
 * SCOPES(asked for, of users), and VERIFIES(how, of emails): what adit-gate asks for to learn the
 * subject, the name and the addresses, and what says that an address is verified.  Without
 * VERIFIES, nothing does, and no address counts.
 *
 * "of users", "of emails", "of organizations" and "of teams" are words of which a token needs one,
 * so that the provider tells adit-gate so much.  "": it tells it whatever the scopes are, or no
 * document says which it wants.  No condition is stricter than the provider's documents, so what is
 * called closed is closed.
 *
 * All take the client's secret in the form of the token request (client_secret_post; RFC 6749,
 * 2.3.1), and the token in a header (RFC 6750, 2.1). */

/* clang-format off */

/* https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 * https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps
 * https://docs.github.com/en/rest/users/users#get-the-authenticated-user
 * https://docs.github.com/en/rest/users/emails (an element's "primary" and "verified")
 * https://docs.github.com/en/rest/orgs/orgs#list-organizations-for-the-authenticated-user
 * https://docs.github.com/en/rest/teams/teams#list-teams-for-the-authenticated-user */
IDENTITY_PROVIDER(GITHUB, "provider_a", "GitHub",
    HAS_TEAMS("read:org", "read:org write:org admin:org user",
              "read:org write:org admin:org user repo"),
    SCOPES("user:email", ""),
    VERIFIES(PROVIDER_EMAILS_LIST, "user:email user"),
    .authorize_url = "https://github.com/login/oauth/authorize",
    .token_url = "https://github.com/login/oauth/access_token",
    .user_url = "https://api.github.com/user",
    .subject_member = "id",
    .name_member = "login",
    .takes_pkce = true)

/* https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow
 * https://developers.facebook.com/docs/graph-api/reference/user
 * "email" is the primary address of the profile.  No page says that it is verified.  PKCE is
 * documented for its OpenID Connect flow only, as a test. */
IDENTITY_PROVIDER(FACEBOOK, "provider_b", "Facebook", HAS_NO_TEAMS,
    SCOPES("public_profile", ""),
    .authorize_url = "https://www.facebook.com/v21.0/dialog/oauth",
    .token_url = "https://graph.facebook.com/v21.0/oauth/access_token",
    .user_url = "https://graph.facebook.com/v21.0/me",
    .user_query = "fields=id,name",
    .subject_member = "id",
    .name_member = "name")

/* https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow
 * https://learn.microsoft.com/entra/identity-platform/userinfo
 * https://learn.microsoft.com/entra/identity-platform/scopes-oidc
 * https://learn.microsoft.com/entra/identity-platform/migrate-off-email-claim-authorization
 * Anybody who has a tenant writes any "email" into it.  The last page says who has verified it. */
IDENTITY_PROVIDER(MICROSOFT, "provider_c", "Microsoft", HAS_NO_TEAMS,
    SCOPES("openid profile email", "openid"),
    VERIFIES(PROVIDER_EMAILS_TENANT, "email"),
    .authorize_url = "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
    .token_url = "https://login.microsoftonline.com/common/oauth2/v2.0/token",
    .user_url = "https://graph.microsoft.com/oidc/userinfo",
    .offline_scopes = "offline_access",
    .subject_member = "sub",
    .name_member = "name",
    .takes_pkce = true)

/* https://developers.google.com/identity/openid-connect/openid-connect
 * https://developers.google.com/identity/protocols/oauth2/scopes
 * https://accounts.google.com/.well-known/openid-configuration
 * https://developers.google.com/identity/protocols/oauth2/web-server: without a consent at each
 * sign-in, only the first one gives a refresh token.
 * https://developers.google.com/identity/gsi/web/guides/verify-google-id-token: Google answers for
 * an address only if it is of gmail.com or "hd" names the organization.  Any other one was verified
 * once, when the account was made. */
IDENTITY_PROVIDER(GOOGLE, "provider_d", "Google", HAS_NO_TEAMS,
    SCOPES("openid profile email", ""),
    VERIFIES(PROVIDER_EMAILS_HOSTED, "email https://www.googleapis.com/auth/userinfo.email"),
    .authorize_url = "https://accounts.google.com/o/oauth2/v2/auth",
    .token_url = "https://oauth2.googleapis.com/token",
    .user_url = "https://openidconnect.googleapis.com/v1/userinfo",
    .offline_query = "access_type=offline&prompt=consent",
    .subject_member = "sub",
    .name_member = "name",
    .takes_pkce = true)

/* https://learn.microsoft.com/linkedin/consumer/ (Sign In with LinkedIn using OpenID Connect)
 * https://learn.microsoft.com/linkedin/shared/authentication/authorization-code-flow
 * PKCE is for native clients, and LinkedIn has to enable it for each of them. */
IDENTITY_PROVIDER(LINKEDIN, "provider_e", "LinkedIn", HAS_NO_TEAMS,
    SCOPES("openid profile email", "openid"),
    VERIFIES(PROVIDER_EMAILS_VERIFIED, "email"),
    .authorize_url = "https://www.linkedin.com/oauth/v2/authorization",
    .token_url = "https://www.linkedin.com/oauth/v2/accessToken",
    .user_url = "https://api.linkedin.com/v2/userinfo",
    .subject_member = "sub",
    .name_member = "name")

/* https://docs.gitlab.com/integration/openid_connect_provider/: a public address needs no scope
 * https://docs.gitlab.com/api/oauth2/ */
IDENTITY_PROVIDER(GITLAB, "provider_f", "GitLab", HAS_NO_TEAMS,
    SCOPES("openid profile email", "openid"),
    VERIFIES(PROVIDER_EMAILS_VERIFIED, ""),
    .authorize_url = "https://gitlab.com/oauth/authorize",
    .token_url = "https://gitlab.com/oauth/token",
    .user_url = "https://gitlab.com/oauth/userinfo",
    .subject_member = "sub",
    .name_member = "nickname",
    .takes_pkce = true)

/* https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/
 * It documents no PKCE.  It puts addresses into the answer only if it is asked for them:
 * {"userinfo":{"email":null,"email_verified":null,"preferred_username":null}} */
IDENTITY_PROVIDER(TWITCH, "provider_g", "Twitch", HAS_NO_TEAMS,
    SCOPES("openid user:read:email", "openid"),
    VERIFIES(PROVIDER_EMAILS_VERIFIED, "user:read:email"),
    .authorize_url = "https://id.twitch.tv/oauth2/authorize",
    .token_url = "https://id.twitch.tv/oauth2/token",
    .user_url = "https://id.twitch.tv/oauth2/userinfo",
    .authorize_query = "claims=%7B%22userinfo%22%3A%7B%22email%22%3Anull%2C%22email_verified%22"
                       "%3Anull%2C%22preferred_username%22%3Anull%7D%7D",
    .subject_member = "sub",
    .name_member = "preferred_username")

/* https://developer.amazon.com/docs/login-with-amazon/authorization-code-grant.html
 * https://developer.amazon.com/docs/login-with-amazon/obtain-customer-profile.html
 * https://developer.amazon.com/docs/login-with-amazon/customer-profile.html
 * "email" is what the customer has registered.  No page says that it is verified. */
IDENTITY_PROVIDER(AMAZON, "provider_h", "Amazon", HAS_NO_TEAMS,
    SCOPES("profile", "profile profile:user_id"),
    .authorize_url = "https://www.amazon.com/ap/oa",
    .token_url = "https://api.amazon.com/auth/o2/token",
    .user_url = "https://api.amazon.com/user/profile",
    .subject_member = "user_id",
    .name_member = "name",
    .takes_pkce = true)
/* clang-format on */
