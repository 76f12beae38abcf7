// SPDX-License-Identifier: MIT
// Fields of a form that are chosen and not typed.
import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { Title } from "./field";
import { useReadOnly } from "./read_only";
import { Value } from "./value";

interface Choices {
    label: string;
    // The member's name in the interface.
    member?: string;
    hint: string;
    fault: string;
    // Values and their words.
    options: [string, string][];
    value: string;
    choose(value: string): void;
    class: string;
}

export function Choose(given: Choices): JSX.Element {
    const id = useId();
    const isReadOnly = useReadOnly();
    return (
        <div class={"field " + given.class}>
            <label for={id}>
                <Title text={given.label} member={given.member} />
            </label>
            <select
                id={id}
                value={given.value}
                disabled={isReadOnly}
                aria-invalid={given.fault ? true : undefined}
                aria-describedby={id + "-hint" + (given.fault && ` ${id}-fault`)}
                onChange={(event) => given.choose(event.currentTarget.value)}
            >
                {given.options.map(([value, words]) => (
                    <option key={value} value={value}>
                        {words}
                    </option>
                ))}
            </select>
            <p class="small" id={id + "-hint"}>
                {given.hint}
            </p>
            {given.fault && (
                <p class="fault" id={id + "-fault"}>
                    <Value text={given.fault} />
                </p>
            )}
        </div>
    );
}

export function Tick(given: {
    label: string;
    member?: string;
    hint: string;
    isOn: boolean;
    set(isOn: boolean): void;
    class: string;
}): JSX.Element {
    const id = useId();
    const isReadOnly = useReadOnly();
    return (
        <div class={"field " + given.class}>
            <label class="tick">
                <input
                    type="checkbox"
                    checked={given.isOn}
                    disabled={isReadOnly}
                    aria-describedby={id}
                    onChange={(event) => given.set(event.currentTarget.checked)}
                />
                <span>
                    <Title text={given.label} member={given.member} />
                </span>
            </label>
            <p class="small" id={id}>
                {given.hint}
            </p>
        </div>
    );
}
