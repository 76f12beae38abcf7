-- Indexes for filters of SSH credentials.
--
-- An operator may run this ahead of an upgrade, with CREATE INDEX CONCURRENTLY where the table of
-- credentials is large.  What is there already stays.

-- Finds the credentials of an owner in the order of their identifiers.  It also serves the foreign
-- key.  sql/011_people.sql drops the index that it replaces: that keeps readers out, so it comes
-- last.
CREATE INDEX IF NOT EXISTS ssh_credential_owner_id
    ON adit.ssh_credential (account_id, owner_id, id);

-- Identifiers begin with the time at which they were made: milliseconds since 1970, of which the
-- first 7 of 27 digits count units of 62^20 / 2^112.  A filter by created_at reads only the
-- identifiers of that time.  This index has the credentials whose created_at differs by more than
-- 1.5 s: rows that came from elsewhere.  In most databases it is empty.
CREATE INDEX IF NOT EXISTS ssh_credential_untimely
    ON adit.ssh_credential (account_id, created_at, id)
    WHERE abs(((((((strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
                           substr(id, 7, 1))::float8
             * 62 + strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
                           substr(id, 8, 1)))
            * 62 + strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
                           substr(id, 9, 1)))
           * 62 + strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
                           substr(id, 10, 1)))
          * 62 + strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
                           substr(id, 11, 1)))
         * 62 + strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
                           substr(id, 12, 1)))
        * 62 + strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
                           substr(id, 13, 1)) - 57731386987) * 0.13566701687887962
        - date_part('epoch', created_at - timestamptz '1970-01-01 00:00:00+00')) > 1.5;
