/* SPDX-License-Identifier: MIT */
/* The eight identity providers: how people call them, and what their scopes permit to read.  C,
 * SQL, documents and the console take their names from here, so this is the one place of each.
 *
 * IDENTITY_PROVIDER(position, title, scopes, team_scopes,
 *                   user_scopes, email_scopes, organization_scopes, group_scopes)
 *
 *     position             what the database stores, from 1; the name is the deployment's own
 *     title                how people call it
 *     scopes               what adit-gate asks for, to learn the subject, the name, the addresses
 *     team_scopes          ... and besides, for teams and organizations; "-": it has none
 *
 * The others have words of which a token needs one, so that the provider tells adit-gate ...
 *     user_scopes          ... who the visitor is
 *     email_scopes         ... verified addresses
 *     organization_scopes  ... organizations
 *     group_scopes         ... teams
 * "": it tells them whatever the scopes are, or no document says which it wants; "-": never.
 *
 * No condition is stricter than the provider's documents, so what is called closed is closed:
 *  1 https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps
 *    https://docs.github.com/en/rest/users/emails, .../orgs/orgs, .../teams/teams
 *  2 no page says that an address is verified
 *  3 https://learn.microsoft.com/entra/identity-platform/scopes-oidc
 *  4 https://developers.google.com/identity/protocols/oauth2/scopes
 *  5 https://learn.microsoft.com/linkedin/consumer/ (Sign In with LinkedIn using OpenID Connect)
 *  6 https://docs.gitlab.com/integration/openid_connect_provider/: a public address needs no scope
 *  7 https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/
 *  8 https://developer.amazon.com/docs/login-with-amazon/customer-profile.html; no page says that
 * an address is verified */

/* clang-format off */
IDENTITY_PROVIDER(1, "GitHub", "user:email", "read:org",
                  "", "user:email user", "read:org write:org admin:org user",
                  "read:org write:org admin:org user repo")
IDENTITY_PROVIDER(2, "Facebook", "public_profile", "-",
                  "", "-", "-", "-")
IDENTITY_PROVIDER(3, "Microsoft", "openid profile email", "-",
                  "openid", "email", "-", "-")
IDENTITY_PROVIDER(4, "Google", "openid profile email", "-",
                  "", "email https://www.googleapis.com/auth/userinfo.email", "-", "-")
IDENTITY_PROVIDER(5, "LinkedIn", "openid profile email", "-",
                  "openid", "email", "-", "-")
IDENTITY_PROVIDER(6, "GitLab", "openid profile email", "-",
                  "openid", "", "-", "-")
IDENTITY_PROVIDER(7, "Twitch", "openid user:read:email", "-",
                  "openid", "user:read:email", "-", "-")
IDENTITY_PROVIDER(8, "Amazon", "profile", "-",
                  "profile profile:user_id", "-", "-", "-")
/* clang-format on */
