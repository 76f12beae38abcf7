/* SPDX-License-Identifier: MIT */
/* Does nothing: the least that a program can cost.  tools/bench compares adit-ssh-keys with it. */
int main(void)
{
    return 0;
}
