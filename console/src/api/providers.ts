// SPDX-License-Identifier: MIT
// The identity providers: the deployment's names, in their order, and how people call them.
import { useEffect, useMemo } from "preact/hooks";
import { session } from "../session";
import { useSyncedValue, value } from "../value";
import { call } from "./client";
import type { OauthProviderName, OauthProviderNames } from "./types";

const known = value<OauthProviderName[]>([]);

export async function readProviders(): Promise<string[]> {
    const answer = await call<OauthProviderNames>("GET", "oauth_providers");
    known.set(answer.value.providers);
    return answer.value.providers.map(({ name }) => name);
}

export interface Titles {
    // How people call the provider, or its name until that is known.
    titleOf(name: string): string;
    // Both: "provider_a (GitHub)".
    labelOf(name: string): string;
}

function titlesOf(providers: OauthProviderName[]): Titles {
    const titleOf = (name: string) => providers.find((one) => one.name === name)?.title ?? name;
    return {
        titleOf,
        labelOf: (name) => {
            const title = titleOf(name);
            return title.toLowerCase() === name.toLowerCase() ? name : `${name} (${title})`;
        },
    };
}

// Many views may ask at once.
let isReading = false;

export function useTitles(): Titles {
    const { keyNumber } = useSyncedValue(session.state);
    const providers = useSyncedValue(known);
    useEffect(() => {
        if (providers.length === 0 && !isReading) {
            isReading = true;
            // Without them, the names alone are shown.
            readProviders()
                .catch(() => undefined)
                .finally(() => (isReading = false));
        }
    }, [keyNumber]);
    return useMemo(() => titlesOf(providers), [providers]);
}
