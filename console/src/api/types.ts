// SPDX-License-Identifier: MIT
// What the interface answers: doc/openapi.yaml.

export interface Credential {
    id: string;
    uri: string;
    created_at: string;
    description: string;
    metadata: string;
    public_key: string;
    acl: string[];
    owner_id: string;
}
