// SPDX-License-Identifier: MIT
// Whom the module in a form would let in.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client";
import type { OauthAdmission, OauthModule } from "../../api/types";
import { type OauthForm, questionOf } from "../../model/oauth_module";
import { session } from "../../session";
import { useSyncedValue } from "../../value";

// The service is asked once nothing was typed for so long.
const PAUSE_MS = 200;

// Null: the answer is not there yet, or the service refuses the module as it is.
export function useAdmission(form: OauthForm, stored: OauthModule): OauthAdmission | null {
    const { keyNumber } = useSyncedValue(session.state);
    const asked = JSON.stringify(questionOf(form, stored));
    const [found, setFound] = useState<{ of: string; admits: OauthAdmission | null }>({ of: "", admits: null });
    useEffect(() => {
        const own = new AbortController();
        const ask = () => {
            call<OauthAdmission>("POST", "oauth_admissions", { body: JSON.parse(asked), isProbe: true, signal: own.signal }).then(
                ({ value }) => setFound({ of: asked, admits: value }),
                () => own.signal.aborted || setFound({ of: asked, admits: null }),
            );
        };
        const timer = setTimeout(ask, found.of ? PAUSE_MS : 0);
        return () => {
            clearTimeout(timer);
            own.abort();
        };
    }, [asked, keyNumber]);
    return found.of === asked ? found.admits : null;
}
