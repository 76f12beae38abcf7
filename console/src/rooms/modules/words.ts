// SPDX-License-Identifier: MIT
// Words that both kinds of modules have.
import { t } from "../../text";

export function onOff(isOn: boolean): string {
    return isOn ? t("modules.on") : t("modules.off");
}
