// SPDX-License-Identifier: MIT
// Filters for what needs somebody's attention.  The overview counts what the lists show with them.
export const BINDS_EVERYTHING = '(size(obj.acl) == 0 || "*" in obj.acl || "bind:*" in obj.acl)';

export const DISABLED = "obj.enabled == false";

export const NO_AUTHORITY = "obj.enabled == true && size(obj.certificate_authority_ids) == 0";

// OAuth modules, as the service says whom they let in.
export const NOBODY = 'obj.admits == "nobody"';
export const ANYONE = 'obj.admits == "anyone"';
