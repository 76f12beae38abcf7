// SPDX-License-Identifier: MIT
// A field of a form: its name, what it is for, and what is wrong with it.
import type { JSX, RefObject } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { useReadOnly } from "./read_only";
import { Value } from "./value";

// A label, and beside it the member's name as the interface and its errors have it.
export function Title({ text, member }: { text: string; member?: string | undefined }): JSX.Element {
    return (
        <>
            {text}
            {member && (
                <>
                    {" "}
                    <code class="member">{member}</code>
                </>
            )}
        </>
    );
}

interface Properties {
    label: string;
    // The member's name in the interface.
    member?: string;
    hint?: string;
    // The server's reason, or the page's own.
    fault?: string;
    // What the server would say of it, if nothing is wrong.
    says?: string;
    text: string;
    setText(text: string): void;
    // With more than one row, text of several lines.
    rows?: number;
    type?: "text" | "password";
    class?: string;
    autofocus?: boolean;
    placeholder?: string;
    // Enter does not send the form.
    isQuestion?: boolean;
}

export function Field(given: Properties): JSX.Element {
    const id = useId();
    const says = given.fault ? "" : given.says;
    const described = [given.hint && id + "-hint", given.fault && id + "-fault", says && id + "-says"].filter(Boolean).join(" ");
    const isReadOnly = useReadOnly() && !given.isQuestion;
    const place = useRef<HTMLElement>(null);
    // The attribute of that name works once per page.  Nobody types before this.
    useLayoutEffect(() => {
        if (given.autofocus) {
            place.current?.focus();
        }
    }, []);
    const shared = {
        id,
        value: given.text,
        placeholder: given.placeholder ?? "",
        autocomplete: "off",
        spellcheck: false,
        readOnly: isReadOnly,
        dir: "auto" as const,
        "aria-invalid": given.fault ? true : undefined,
        "aria-describedby": described || undefined,
        // The browser shows the caret only, which may leave half of the field hidden.
        onFocus: () => place.current?.scrollIntoView({ block: "nearest" }),
        onKeyDown: (event: KeyboardEvent) => {
            if (given.isQuestion && event.key === "Enter") {
                event.preventDefault();
            }
        },
        onInput: (event: { currentTarget: { value: string } }) => given.setText(event.currentTarget.value),
    };
    return (
        <div class={"field " + (given.class ?? "")}>
            <label for={id}>
                <Title text={given.label} member={given.member} />
            </label>
            {given.rows && given.rows > 1 ? (
                <textarea {...shared} ref={place as RefObject<HTMLTextAreaElement>} rows={given.rows} />
            ) : (
                <input {...shared} ref={place as RefObject<HTMLInputElement>} type={(given.type ?? "text") as "text"} />
            )}
            {given.hint && (
                <p class="small" id={id + "-hint"}>
                    {given.hint}
                </p>
            )}
            {given.fault && (
                <p class="fault" id={id + "-fault"}>
                    <Value text={given.fault} />
                </p>
            )}
            {says && (
                <p class="says" id={id + "-says"}>
                    <Value text={says} />
                </p>
            )}
        </div>
    );
}
